// Package linearizable checks that concurrent writes to a cluster, and the reads between them, have one order: its
// tests record requests and answers, and porcupine looks for an order of these operations, each at
// some moment between its request and its answer, that a single register for each object would have answered the same.
package linearizable
