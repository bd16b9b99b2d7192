// Package clienttooltest tests what is built on package clienttool.
//
// For authors of carriers there are two kits: [TestConn] holds a [clienttool.Conn]
// to its contract, [TestTransport] runs a whole system of hub and clients over a
// carrier. Each case says which promise breaks without it.
//
// For hosts there is [FakeClient], whose tools do as they are told; for clients
// [FakeHost], which sends and records frames. [Faulty] makes any Conn lose, repeat,
// reorder, delay or cut. All of them work inside a testing/synctest bubble when the
// carrier does, as [clienttool.Pipe] does; [Run] makes a bubble with a hub in it.
package clienttooltest
