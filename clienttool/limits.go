package clienttool

// Limits bounds what strangers can make a host hold. In every field zero means
// the default in brackets, and a negative number no limit.
type Limits struct {
	Clients             int // leases of the hub [10 000]
	ClientsPerPrincipal int // [16]; anonymous peers together count as one principal with the limit of Clients

	ToolsPerClient   int // [128]
	DefinitionBytes  int // [64 KiB] of one definition; a larger one is rejected
	DescriptionBytes int // [4 KiB]

	InFlight         int // calls written to one client and not ended [16]; the rest waits on the host
	QueuedCalls      int // waiting for one client [256]
	QueuedBytes      int // of their arguments [8 MiB]
	Pending          int // calls of the hub [100 000]
	PendingBytes     int // of their arguments [1 GiB]
	RequestBytes     int // arguments of one call [1 MiB]
	ResultBytes      int // of one result, with everything in it [4 MiB]
	ProgressBytes    int // of one progress message [64 KiB]
	ProgressBudget   int // of the text that progress of one call adds up to [1 MiB]
	Attachments      int // of one result [16]
	CallbacksPerCall int // questions and invocations of one running call at once [16]
	Control          int // frames that wait for one link besides requests [1024]

	CallsPerMinute     int // to one client, in any minute [100]
	RegistersPerMinute int // that change something, by one principal [10], with a burst of 5
	FramesPerSecond    int // that nobody asked for, on one link [200], with a burst of twice that

	Tombstones          int // ended calls that the hub remembers [100 000]
	TombstonesPerClient int // [1024]
}

func (l Limits) withDefaults() Limits {
	for _, f := range []struct {
		p *int
		n int
	}{
		{&l.Clients, 10_000}, {&l.ClientsPerPrincipal, 16},
		{&l.ToolsPerClient, 128}, {&l.DefinitionBytes, 64 << 10}, {&l.DescriptionBytes, 4 << 10},
		{&l.InFlight, 16}, {&l.QueuedCalls, 256}, {&l.QueuedBytes, 8 << 20},
		{&l.Pending, 100_000}, {&l.PendingBytes, 1 << 30},
		{&l.RequestBytes, 1 << 20}, {&l.ResultBytes, 4 << 20}, {&l.ProgressBytes, 64 << 10}, {&l.ProgressBudget, 1 << 20},
		{&l.Attachments, 16}, {&l.CallbacksPerCall, 16}, {&l.Control, 1024},
		{&l.CallsPerMinute, 100}, {&l.RegistersPerMinute, 10}, {&l.FramesPerSecond, 200},
		{&l.Tombstones, 100_000}, {&l.TombstonesPerClient, 1024},
	} {
		if *f.p == 0 {
			*f.p = f.n
		}
	}
	return l
}

// over reports whether n is more than limit allows.
func over(n, limit int) bool { return limit >= 0 && n > limit }

// FrameBytes is the largest frame that a carrier has to take: a result or a
// request, and its envelope. -1 if there is no limit.
func (l Limits) FrameBytes() int {
	l = l.withDefaults()
	if l.ResultBytes < 0 || l.RequestBytes < 0 {
		return -1
	}
	return max(l.ResultBytes, l.RequestBytes) + envelope
}
