// Package player plays scenarios: it starts a cluster for each, sends the requests of its steps and compares the answers with the expectations.
//
// A Backend is the cluster that a scenario is played on: one in this process (InProcess), or a view of one that runs elsewhere (package remote).
// What a step does is a function in the table actions, which has one row for each verb of package syntax; a test compares the two tables. To add a
// step, write a row in syntax.verbs, a row in actions with the function, and the line in the manual that the test of the manual asks for.
//
// A scenario that waits is played in a bubble of testing/synctest, if the caller can make one. Results are reported in the order of the scenarios.
// A failure never shows the value of a Secret.
package player
