// Package write is the one way by which objects change: the pipeline that
// judges a create, an update or a delete, and its commit.
//
// A Pipeline takes a Request, which says who wants what of which object, and
// returns a Result. The verbs of the API and the server's own controllers make
// the same requests. The package knows neither HTTP nor the server.
//
// # Stages
//
// The order of the stages is that of upstream's endpoints/handlers and
// registry/generic/registry. It stands in pipeline.go, where create and update
// read from top to bottom; delete.go has the one of a delete. A stage gets its
// input as arguments and returns what later stages need. An attempt, which the
// stages are methods of, has only what does not change on the way.
//
// A subresource that shows the object as another kind (scale) adds two stages to
// an update: what is changed, managed and put before admission is the
// projection of the current object; then the change is written into a copy of
// the object, which goes the rest of the way.
//
// # Attempts
//
// What a write is judged by may change before it commits: the object, its
// definition, its namespace. The commit is a compare-and-swap that says so. Run
// has the one loop that tries again, and the policy of it. Each attempt reads
// the current state again and decodes anew what was sent, so that nothing of a
// failed attempt is left in the next.
//
// # Quotas
//
// A write and the new status of the quotas that are charged for it commit in one instant, so that
// of concurrent creates as many succeed as the quota allows, and nothing has to be taken back from
// a write that fails. If a quota has changed since it was asked, the write asks the quotas again
// and nothing else. Each status is made by an update of its own, which goes through all stages but
// the commit (Stage): admission sees it as on a real server, where it is a request to the server
// itself.
//
// # What may be altered
//
// A stage may alter the object that is on its way to the store; it is the
// attempt's own until the commit. The current object comes from the memory of
// decoded objects (resource.Memory), which keeps what is committed, too: both are
// shared with other writes, and so is all that a version or a catalogue holds. No
// stage alters what is shared. A new object may have parts in common with the
// current one: a merge patch shares what it does not touch. The object itself and its
// metadata are maps of its own, and a stage may set fields in them. One that changes
// something deeper copies it first, unless it knows that it was decoded for this attempt.
//
// # What is known
//
// What decoding has found out about an object goes along with it (resource.Decoded): that
// the schema finds it valid, for example. Whoever changes more of it than metadata gives
// up what is known, as admission does, or says what holds now, as a strategy does that
// resets the status. So no stage asks again, and the next write begins with what this one
// has found out.
//
// # Locks
//
// The pipeline holds no lock. Random, the memory and the store have one each; none
// of them calls out while it is held. Admission, conversion and the reactor run
// without any lock.
package write
