// Package write is the one way in which objects change: the pipeline of a create, an update
// or a delete, and its commit.
//
// A Pipeline takes a Request, which says what to do with which object, and returns a
// Result. The verbs of the API and the server's own controllers make the same requests. The
// package knows neither HTTP nor the server.
//
// # Stages
//
// The order of the stages is that of upstream's endpoints/handlers and
// registry/generic/registry. A stage gets its input as arguments and returns what later stages
// need. The stages are methods of attempt, which has the request and what it depends on.
//
// A create can be read in this order:
//
//   - retry.go has Run, which makes attempts until one is not overtaken by another write.
//   - pipeline.go has an attempt: run decodes the object, createNew (create.go) says what a taken
//     name means, and create has the stages from top to bottom. update stands below it.
//   - The stages: bounds.go (the size), owners.go, fields.go (field management), admit.go (both
//     phases of admission), permit.go, claim.go, prepare.go (the kind's strategy, which also
//     validates).
//   - commit.go charges the quotas (charge.go), encodes the object, writes it to the store, and
//     calls Committed for what follows.
//
// An update adds load.go, and what makes the wanted object: update.go, patch.go or apply.go.
// delete.go has the stages of a delete. strictdecoding.go is about fieldValidation, which is about
// unknown and duplicate fields only.
//
// A subresource that shows the object as another kind (scale) adds two stages to an update.
// First the current object is projected: the request changes the projection, and field
// management and admission see it. Then the changed projection is written into a copy of
// the object, which goes the rest of the way.
//
// # Attempts
//
// What a write depends on may change before it commits: the object, its definition, its
// namespace. The commit is a compare-and-swap that fails then. Run has the loop that tries
// again, and the policy for it. Each attempt reads the current state again and decodes
// again what was sent, so that nothing of a failed attempt is left in the next. Only quotas
// are evaluated again without another attempt, see below.
//
// # Quotas
//
// Package quota evaluates a write at the stage charge; what it changes in quotas commits with the write, at the
// stage commitCharged. A write and the new status of the quotas that are charged for it commit in one instant. So
// exactly as many concurrent creates succeed as the quota allows, and a write that fails leaves no
// charge behind. What an update or a delete releases commits with it as well, right after it, so
// that it costs no more if there are many objects. If a quota has changed since it was evaluated, the
// write evaluates the quotas again, but does not call admission again: on a real server, too, only the
// plugin ResourceQuota tries again. Each status is made by an update of its own, which goes through
// all stages but the commit (Stage): admission sees it as on a real server, where it is a request
// to the server itself.
//
// # What may be altered
//
// A stage may alter the object that is on its way to the store; it is the attempt's own
// until the commit. The current object comes from the memory of decoded objects
// (resource.Memory), which also keeps what is committed. Both are shared with other writes,
// and so is everything that belongs to a version or a registry. No stage alters what is
// shared. A new object may have parts in common with the current one: a merge patch shares
// what it does not touch. The object itself and its metadata are maps of its own, and a
// stage may set fields in them. A stage that changes something deeper copies it first,
// unless the object was decoded for this attempt.
//
// # Facts
//
// What decoding has found out about an object travels with it (resource.Decoded), for
// example that the schema finds it valid. A stage that changes more than metadata drops
// these facts, as admission does, or updates them, as a strategy does that resets the
// status. So no stage finds them again, and the next write begins with the facts that this one
// has found out.
//
// # Observers
//
// The stages report what they find to the observer of the request (observe.Write), which is in the context. It
// does not change what becomes of the write.
//
// # Locks
//
// The pipeline holds no lock. Random, the memory and the store have one each. The store calls the
// Make of a write while it is locked: it puts the revision into the object, and reports it to the
// history and the quotas, which take a lock of their own for a few statements. Admission, conversion and Committed run without any lock.
package write
