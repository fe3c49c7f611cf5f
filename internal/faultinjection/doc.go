// Package faultinjection is the engine of package faults: it determines which requests a fault strikes, and what happens
// to them. It also holds back watch events until a test delivers them.
//
// An [Engine] has the active faults of one server. The table in effect.go has all types of effects. Packages rest and
// server call the engine at four places:
//
//   - the filter after impersonation: [Engine.Strike] counts a request and returns what happens to it;
//   - the verbs, for later effects: they get the [Struck] from the context;
//   - each watch, which reads its events through a [Watch];
//   - calls of webhooks: [Engine.FailWebhook] and [Engine.FailConversion]. A conversion does not have its request; its
//     error carries the name of the fault ([Behind]).
//
// # What always holds
//
//   - Without faults and without a [Hold], each of these places costs one atomic load, and a watch
//     one uncontended lock for each batch of events.
//   - The first active fault that matches a request strikes it, in the order of injection. Faults that only add latency
//     strike in addition.
//   - A fault counts only effects that have happened: a request whose write is rejected for another reason has not been
//     cut after its commit.
//   - Which requests a fault strikes depends only on its fields, the seed and the order of the matching requests.
//   - A watch gets its events in the order of their revisions, each once, with any fault, and none after the change of
//     its definition that ends it.
//   - Only faults of webhooks strike the writes of the server's own controllers.
//
// # Locks, in the order they are taken
//
//  1. Engine.mu: the faults in force, the running watches, the hold.
//  2. Watch.mu: the events of one watch that are held back.
//  3. Injection.mu: the counters of one fault. A leaf.
//
// The locks of the store and, by [Source].Report, of the history are taken under Watch.mu. Of the code of rest, only
// [Source].Ends runs under these locks; it reads bytes only. Code that may call a webhook, such as [Source].Shows, runs
// without locks: the webhook may be slow, or use the cluster itself.
package faultinjection
