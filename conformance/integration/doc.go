// Package integration runs the integration tests of Kubernetes' modules against
// fakecluster.
//
// Nothing of upstream is checked in. A module is copied from the module cache into the
// user's cache, once for each version, and stays as it is. What a [Suite] changes, the few
// files that start servers, reaches the compiler as an overlay (go help build, -overlay):
// so the go command builds again only what a change touches.
//
// Each test runs in a process of its own, so that one that hangs or panics says nothing
// about the others.
package integration
