// Package container runs containers whose images are Go functions.
//
// A [Runtime] starts a function on a goroutine of its own for each start of a container. Its [Container] has the
// arguments, the environment, the files and the standard streams. SIGTERM cancels its context. The container exits when
// the function returns: nil is exit code 0, an error is 1, [Exit] any other, and a panic is 2, as for a Go program.
//
// SIGKILL cannot end a goroutine. Then the container exits with 137, and the function is reported: see [Config].
//
// # Locks
//
// Each type has one mutex for its fields. None is held while a function, a reader or a writer is called.
package container
