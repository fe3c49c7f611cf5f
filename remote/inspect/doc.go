// Package inspect has the types by which a cluster of package remote reports what happened in it, and why. They are those of package
// inspect of fakecluster, except that objects are maps, and reasons and types of events are strings.
package inspect
