// Package lifecycle does what follows a commit: it judges the names and
// conditions of definitions, empties definitions and namespaces that are being
// deleted, and lets them go; it migrates stored objects to another version.
//
// On a real server controllers do this in the background, some time later. Here
// it is done in the call of the write that gave rise to it, before its answer
// leaves.
//
// A Reactor has no state and holds no lock. Each step is a write of its own
// through the pipeline, made on what the step has read; a step that finds its
// work done does nothing, so that two requests may take the same steps at once.
// When a step is refused, by an admission webhook say, the object keeps a
// condition that says so, and the next related write tries again.
package lifecycle
