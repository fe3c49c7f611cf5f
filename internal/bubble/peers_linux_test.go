package bubble

import (
	"net"
	"testing"
)

// TestThePeersOfAProcess connects to a server of this process, whose own end is not a peer.
func TestThePeersOfAProcess(t *testing.T) {
	if got := peers(); got != "" {
		t.Errorf("without a connection: %q", got)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if got, want := peers(), " at "+l.Addr().String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
