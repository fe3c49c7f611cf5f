// Package player plays scenarios: it starts a cluster for each, sends the requests of its steps and compares the answers with the expectations.
//
// A Backend is what a scenario is played on: a cluster in this process (InProcess), or a view of one that runs elsewhere (package remote). An
// Action sends the request of a step; actions has one for each verb of package syntax. A scenario that waits is played in a bubble of
// testing/synctest, if the caller can make one. Results are reported in the order of the scenarios. What a failure shows never
// contains the value of a Secret.
package player
