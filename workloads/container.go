package workloads

import (
	"context"

	"github.com/fakecluster/fakecluster/workloads/internal/container"
)

// Container is the container in which the function of an image runs: its arguments, environment, files and
// standard streams, and a client configuration with the token of the Pod. Its methods are safe for concurrent
// use.
type Container = container.Container

// ExecCommand is a command that a client runs in a container by exec: see [Container.HandleExec].
type ExecCommand = container.Command

// Image runs the containers of an image as a Go function, each start on a goroutine of its own. name is an image with or
// without a tag, or a pattern of path.Match; the first Image that matches runs. Containers of other images follow their
// [Behavior].
//
// ctx is canceled by SIGTERM: when the Pod is deleted, when a liveness probe fails, and at the end of the
// test. The function has to return within the grace period. One that does not fails the test, with the names
// of its container and Pod. The log of the test lists goroutines that it leaves behind, with the line that
// started them. Returning nil is exit code 0, an error is exit code 1 with the error in the log, [Exit] is
// any other, and a panic is exit code 2 with the stack in the log. Then the container is restarted as
// restartPolicy says, with the back-off of a kubelet.
//
// Two functions for one name are an error of Run. So is Image without [Nodes].
func Image(name string, run func(ctx context.Context, c *Container) error) Option {
	return func(s *settings) { s.images = append(s.images, container.Image{Name: name, Run: run}) }
}

// Command runs the containers of an image as a program of this machine, in real time, on Linux. path and args
// are as for exec.Command. After them come the arguments of the container: its command without the first
// word, and its args. The program has
//
//   - the environment of the container, and PATH, HOME and TMPDIR, which are those of a folder of its own;
//   - KUBECONFIG, a file for the Pod's ServiceAccount with the token that is mounted, in place of the variables that make rest.InClusterConfig
//     work;
//   - volumes as folders: an argument or a variable that is a mount path or a path below one, also after its first "=", is the path on disk;
//   - SIGTERM, SIGKILL after the grace period, the container's exit code (128 and the number of the signal that ends it), and its log;
//   - the machine's network. The TCP ports that the container declares or is probed at lead to the same ports of 127.0.0.1, also from
//     Services. Two containers cannot have the same one.
//
// It ends with its container, and so do the programs that it has started; a test that is killed
// leaves none behind. In a synctest bubble, on other systems, and if the program does not exist,
// Run fails. The name of the image is matched as for [Image].
func Command(image, path string, args ...string) Option {
	return func(s *settings) {
		s.images = append(s.images, container.Image{Name: image, Program: &container.Program{Path: path, Args: args}})
	}
}

// Exit returns an error with which the function of an image, or a program of [Container.HandleExec], ends with an exit code
// from 0 to 255.
func Exit(code int) error { return container.Exit(code) }

// OnlyKnownImages makes the pull of an image fail, as if the registry did not have it, if no Image,
// Command, ImageFiles or Behavior names the image. Such a pull also fails the test.
//
// Default: such images exist, and their containers run as [Behaviors] describes.
func OnlyKnownImages() Option {
	return once("OnlyKnownImages", func(s *settings) { s.onlyKnown = true })
}
