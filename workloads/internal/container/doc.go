// Package container runs containers whose images are Go functions.
//
// A [Runtime] starts a function on a goroutine of its own for each start of a container, with a [Container] that has
// what a program finds in a real one: arguments, environment, files, standard streams. Its context is canceled by
// SIGTERM. When it returns, the container has exited: nil is exit code 0, an error is 1, [Exit] any other, and a panic
// is 2, as for a Go program.
//
// SIGKILL cannot end a goroutine. The container has exited with 137 then, and the function is reported: see [Config].
//
// # Locks
//
// Each type has one mutex for its fields. None is held while a function, a reader or a writer is called.
package container
