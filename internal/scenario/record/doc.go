// Package record writes a session of clients with a cluster as a scenario. A Recorder uses bounded memory. Its steps
// have the order in which the answers began. Values of Secrets and tokens are replaced before they are stored.
package record
