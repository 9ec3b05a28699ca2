// Package cluster is the one harness of this repository for councils that really run: the demonstration, the measurements, the
// torture and all tests of processes use it.
//
// # Hosts
//
// A Cluster has hosts by name, of one of three kinds (Options.Hosts), with the same calls for all:
//
//	Loopback    processes of this host, on 127.0.0.1
//	Namespaces  processes in network namespaces with cables to a switch; Linux, root (CanNamespaces returns why not)
//	Memory      members in this process on a network in memory, also inside testing/synctest
//
// On hosts run, each under a name in the cluster:
//
//	c.Start("a")                          a member by the library: the process that Options.Command makes, which calls Serve.
//	                                      It leads the Options.Groups and tells of it: c.Events(). c.Say gives it commands.
//	c.StartAgent("a"), c.AwaitAgents(...) an agent: Options.Regent makes the command "regent agent --config FILE". Options.Config
//	                                      is added to its YAML. c.Socket, c.HTTP, c.Client and c.ConfigFile reach it.
//	c.Run("p", "a", "g", flags, cmd...)   "regent run g --socket … flags -- cmd" on host a, called p
//	c.Spawn("x", "a", cmd, line)          any command; line gets its output
//	c.JoinAll(ctx, "a", "b"), c.Join      members in this process (Memory, Loopback); c.Member("a") returns one
//
// # Faults
//
//	c.Crash, c.Pause, c.Resume, c.Stop       kill -9 (also of members in memory), SIGSTOP, SIGCONT, in good order; by name
//	c.Process("a")                           the same on a Process, with Signal, Log, Gone, ExitCode
//	c.Cut, c.Part, c.CutLink, c.CutOneWay    links; Options.Relay on Loopback and Namespaces. Undone by c.Heal, c.HealLink, c.HealAll
//	c.Slow, c.SlowLink, c.Link("link a b …") delay, jitter, loss, late duplicates, disorder: see Link
//	c.Unplug, c.Plug                         the cable of a host in a namespace
//	cluster.Record                           what is on the network, to be sent again
//	Options.Clocks                           clocks of a host that are ahead or behind: a time namespace (CanClocks)
//
// # Who led when
//
// Every leading program writes a journal (package journal) into c.JournalDir(): members that run Serve with Options.Poll do so,
// and programs under regent run do if they call Act, or journal.Open themselves. c.Check(Rules{}) reads all of them, also of
// processes that were killed, and finds two that led at once and tokens that did not grow; c.Judge does the same for a test.
// The readings are of the kernel's clock without the offset of a time namespace: Now.
//
// # Tests
//
// Open makes a cluster that closes with the test. Eventually waits and names what it waited for. The child processes are the test
// binary itself; TestMain tells them apart:
//
//	func TestMain(m *testing.M) {
//		cluster.Main() // does not return in a child
//		os.Exit(m.Run())
//	}
//
//	c := cluster.Open(t, cluster.Options{Names: []string{"a", "b", "c"}, Command: cluster.Child(), Groups: cluster.OneGroup, …})
//
// cluster.Child runs Serve, and cluster.Acting is the command line of a program for c.Run that keeps a journal until it is killed.
//
// OpenCrash is Open for tests that do not care how processes stop: also programs that outlived their runner are killed at the end.
// c.Finish has a process stop, and fails the test if it does not end with status 0. c.StartMain starts the program of an example.
//
// Everything ends with the process that made the cluster, also if it is killed: children by the parent-death signal, namespaces with
// the last of them, and a temporary directory by a janitor that waits for that.
//
//	cluster.go    hosts with processes, and what can be done to them
//	host.go       loopback; namespace*.go: network namespaces; memory.go: members in this process
//	process*.go   one process
//	links.go      what can be done to links
//	agents.go     agents and runners
//	serve.go      what a member process does; groups.go: for the groups that it leads
//	message.go    what the two say to one another
//	janitor.go    removes the directory of a cluster that was killed
//	watch.go      a cluster whose events a test reads
//	child.go      children of a test or a program from its own executable
//	wait.go       waiting and judging in tests
//	finish.go     ending processes in tests, and what outlived them
package cluster
