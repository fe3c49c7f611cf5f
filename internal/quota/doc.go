// Package quota is all of ResourceQuota: what an object uses, what a write charges and releases, and what
// is used of a quota. It does what upstream's admission plugin ResourceQuota and resourcequota-controller
// do, by upstream's evaluators.
//
// evaluate.go has the evaluators: what an object uses, and the sum over a namespace. charge.go is the part of
// the write pipeline (write.Quota): it is called before the commit. measure.go is what the
// controller calls (package controller) to write into the status of a quota what is used.
//
// # Charging and measuring
//
// Upstream's plugin writes the status of a quota before the object, so that it charges for an object that is
// then not stored. Here the pipeline commits the object together with the new status of its quotas: those
// that are charged before it, those that get something back after it. See package write.
//
// What is left for the controller is to measure a quota by the objects that exist whenever adding and
// subtracting is not enough. It is enough while the status is exact, which means that a measurement would
// find the same. Exact keeps the revisions at which that is so.
//
// # Locks
//
// The revisions of exact quotas have a mutex, which is held for a look-up only. They are advanced while the
// store is locked.
package quota
