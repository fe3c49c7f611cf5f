// Package record writes a session of clients with a cluster as a scenario. The memory that a Recorder uses is bounded, its steps are in the order in which
// the answers began, and values of Secrets and tokens are replaced before they are stored.
package record
