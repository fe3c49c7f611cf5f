// Package quota implements ResourceQuota, as upstream's admission plugin ResourceQuota and resourcequota-controller do,
// with upstream's evaluators: the use of an object, the charges and releases of a write, and the use of a quota.
//
// evaluate.go has the evaluators: the use of an object, and the sum over a namespace. charge.go is the part of the write
// pipeline (write.Quota), which calls it before the commit. measure.go is for the controller (package controller), which
// writes the use into the status of a quota.
//
// # Charging and measuring
//
// Upstream's plugin writes the status of a quota before the object, and so may charge for an object that is then not
// stored. Here the pipeline commits the object together with the new status of its quotas: charges before it, releases
// after it. See package write.
//
// The controller measures a quota by its existing objects whenever adding and subtracting is not enough. It is enough
// while the status is exact: a measurement would find the same. The type exact keeps the revisions at which a status is
// exact.
//
// # Locks
//
// A mutex guards the revisions of exact quotas, for look-ups only. The revisions are advanced while the store is locked.
package quota
