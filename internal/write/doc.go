// Package write has the pipeline through which all objects change: create, update, delete, and their commit.
//
// A Pipeline takes a Request, which says what to do with which object, and returns a
// Result. The verbs of the API and the server's own controllers make the same requests. The
// package does not depend on HTTP or on the server.
//
// # Stages
//
// The order of the stages is that of upstream's endpoints/handlers and
// registry/generic/registry. A stage gets its input as arguments and returns what later stages
// need. The stages are methods of attempt, which has the request and what it depends on.
//
// A create can be read in this order:
//
//   - pipeline.go has Run, which makes attempts until one is not overtaken by another write (retry.go). The server is an
//     argument: the pipeline calls it for quotas, and after the commit. An attempt begins with attempt.run.
//   - object.go decodes the object of the request, and create.go has the stages: createNew admits the object once, and
//     repeats the stages after that if a generated name is taken.
//   - The stages call bounds.go (the size), owners.go, fields.go (field management), admit.go (both
//     phases of admission), permit.go, allocate.go, prepare.go (the kind's strategy, which also
//     validates).
//   - commit.go charges the quotas (charge.go), encodes the object, writes it to the store, and
//     calls Server.Committed for what follows.
//
// update.go has the stages of an update, which adds load.go, and patch.go or apply.go for the wanted object. delete.go
// has the stages of a delete. strictdecoding.go implements fieldValidation, which concerns unknown and duplicate fields
// only.
//
// A subresource that shows the object as another kind (scale) adds two stages to an update. First the current object is
// projected: the request changes the projection, and field management and admission see it. Then the changed projection
// is written into a copy of the object, which passes the remaining stages.
//
// # Attempts
//
// The object, its definition or its namespace may change before a write commits. The commit is a
// compare-and-swap, which fails then. Run has the loop that retries, and the policy for it. Each attempt
// reads the current state and decodes the body again, so that nothing of a failed attempt
// is left in the next. Only quotas are evaluated again without another attempt, see below.
//
// # Quotas
//
// Package quota evaluates a write at the stage charge; what it changes in quotas commits with the write, at the
// stage commitCharged. A write and the new status of the quotas that are charged for it commit in one instant. So
// exactly as many concurrent creates succeed as the quota allows, and a write that fails does not leave a
// charge. What an update or a delete releases commits right after it, so
// that the cost does not depend on the number of objects. If a quota has changed since it was evaluated, the
// write evaluates the quotas again, but does not call admission again: on a real server, too, only the
// plugin ResourceQuota retries. Each status is a separate update, which goes through
// all stages except the commit (Stage): admission sees it as on a real server, where it is a request
// to the server itself.
//
// # What may be altered
//
// A stage may alter the object that is on its way to the store; it is the attempt's own
// until the commit. The current object comes from the memory of decoded objects
// (resource.Memory), which also keeps what is committed. Both are shared with other writes,
// and so is everything that belongs to a version or a registry. No stage alters what is
// shared. A new object may share parts with the current one: a merge patch shares
// what it does not touch. The maps of the object itself and of its metadata are never shared, and a
// stage may set fields in them. A stage that changes something deeper copies it first,
// unless the object was decoded for this attempt.
//
// # Facts
//
// Decoding finds facts about an object, for example that it is valid by its schema. They travel with the
// object (resource.Decoded). A stage that changes more than metadata drops
// these facts, as admission does, or updates them, as a strategy does that resets the
// status. So no fact is computed twice, and the next write begins with the facts of this one.
//
// # Observers
//
// The stages report to the observer of the request (observe.Write), which is in the context. It does not affect
// the write.
//
// # Locks
//
// The pipeline does not hold a lock. Random, the memory and the store have one each. The store calls the
// Make of a write while it is locked. Make puts the revision into the object, and reports it to the
// history and the quotas, which hold their own locks for a few statements. Admission, conversion and Committed
// run without a lock. Activity has a mutex for a counter, and reads the revision of the store under it.
package write
