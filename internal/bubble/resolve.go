package bubble

import (
	"context"
	"net"
	"testing"
)

func init() {
	if testing.Testing() {
		PrepareLookups()
	}
}

// PrepareLookups makes the channels with which package net guards the configuration of its resolver and limits the threads of
// lookups. They belong to the process, and its first lookup makes them: if that were in a bubble, the next lookup
// elsewhere would end the process with "send on synctest channel from outside bubble". Call it outside of bubbles. It
// reads files, and sends nothing.
func PrepareLookups() {
	// Go's resolver never asks a server for a name in .onion (RFC 7686), and a trailing dot excludes search domains.
	_, _ = (&net.Resolver{PreferGo: true}).LookupHost(context.Background(), "fakecluster.onion.")
	_, _ = net.LookupPort("tcp", "https") // of the operating system's resolver
}

// DialContext is that of a net.Dialer, and may be called in several bubbles at once. net.DefaultResolver may not: lookups
// of the same name share one answer, which is sent to the channels of all.
func DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Resolver: &net.Resolver{}}
	return d.DialContext(ctx, network, address)
}
