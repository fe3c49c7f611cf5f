// Package audittrail keeps the audit events of a server in memory, and writes them to a log by a policy. Package rest
// creates the events of requests, and package server those of the writes of its own controllers.
package audittrail
