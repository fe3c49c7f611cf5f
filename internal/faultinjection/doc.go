// Package faultinjection applies the faults of package faults: it decides which requests a fault strikes, and
// what happens to them. It also holds watch events back until a test delivers them.
//
// An [Engine] has the faults of one server that are in force. The table in effect.go has all types of
// effects. Packages rest and server call the engine at four places:
//
//   - the filter behind impersonation: [Engine.Strike] counts a request and says what happens to it;
//   - the verbs, for effects that come later: they find the [Struck] in the context;
//   - each watch, which reads its events through a [Watch];
//   - calls of webhooks: [Engine.FailWebhook] and [Engine.FailConversion]. A conversion does not have the request
//     that it is for; its error carries the name of the fault to where the request is available ([Behind]).
//
// # What always holds
//
//   - Without faults and without a [Hold], each of these places costs one atomic load, and a watch
//     one uncontended lock for each batch of events.
//   - A request is struck by the first fault in force that matches it, in the order in which they
//     were injected. Faults that only add latency strike beside another one.
//   - A fault counts what it has done, not what it might have done: a request whose write is refused
//     for another reason has not been cut after its commit.
//   - Which requests a fault strikes follows from its fields, the seed and the order of the requests
//     that match it, and from nothing else.
//   - A watch gets its events in the order of their revisions, each once, whatever strikes it, and none
//     from behind the change of its definition that ends it.
//   - The writes of the server's own controllers are struck by no fault but those of webhooks.
//
// # Locks, in the order they are taken
//
//  1. Engine.mu: the faults in force, the running watches, the hold.
//  2. Watch.mu: the events of one watch that are held back.
//  3. Injection.mu: the counters of one fault. A leaf.
//
// The store's locks are taken under Watch.mu, and so is that of the history, by [Source].Report. Of the
// code of rest, only [Source].Ends runs under them, which looks at bytes alone. What may ask a webhook,
// as [Source].Shows does, runs under none: the webhook may take its time, or use the cluster itself.
package faultinjection
