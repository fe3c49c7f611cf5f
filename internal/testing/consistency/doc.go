// Package consistency checks what reads and watches of a server show, against a model.
//
// The idea: several [Writers] change a handful of objects at random. One watch from the
// beginning records all that happens, which is the [History]. [History.Check] compares it
// with the answers that the writers got, so that the history itself can be trusted. From
// then on it is the model: for every [Vantage], which is a way to look at the objects
// (a version, selectors, a Table or partial metadata, a start at some revision), it returns
// the exact events and lists that a client there has to see. [Vantage.Watch] and
// [Vantage.Pages] look for real, and [Report.Compare] and the tests compare the two, event
// for event and byte for byte. [Notes] do the same for the informers of client-go, whose
// connection [Brittle] breaks again and again.
//
// What follows from a comparison that finds no difference are the guarantees of a watch:
// events come in the order of the history, none twice, none in part, none lost, wherever
// the watch was resumed, at the revision of an event or of a bookmark.
//
// An example that a naive model gets wrong: an object with the label
// tier=a is changed to tier=b at revision 9. For a watcher with the selector tier=a the
// object is DELETED, and the event shows the object as it was before, but with revision 9.
//
// The package uses HTTP only and does not depend on the server. The tests that use it stand
// beside package fakecluster, in reads_*_test.go. A type of this package belongs to one
// test; those that several goroutines use (Writers, Notes, Brittle) have a lock of their
// own, which is never held while a request is under way.
package consistency
