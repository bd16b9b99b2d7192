// Package tooltest helps to test tools and the programs that embed them: a
// conformance check for tools ([Check]), approvers that answer by rule or by
// script ([AllowAll], [DenyAll], [Script]), a recorder of events ([Recorder]) and
// a temporary workspace made of a txtar archive ([Workspace]).
package tooltest
