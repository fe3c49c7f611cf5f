package images

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/fakecluster/fakecluster/workloads"
)

// portForwardTester accepts one connection, reads what it expects, writes pieces of data with pauses between them, and ends.
func portForwardTester(ctx context.Context, c *workloads.ExecCommand) error {
	say := func(format string, args ...any) { fmt.Fprintf(c.Stdout, format+"\n", args...) }
	var numbers [3]int
	for i, name := range []string{"CHUNKS", "CHUNK_SIZE", "CHUNK_INTERVAL"} {
		var err error
		if numbers[i], err = strconv.Atoi(c.Container.Getenv(name)); err != nil {
			say("%s: %v", name, err)
			return workloads.Exit(1)
		}
	}
	address := c.Container.Getenv("BIND_ADDRESS")
	if address == "" {
		address = "localhost"
	}
	l, err := c.Container.Listen("tcp", net.JoinHostPort(address, c.Container.Getenv("BIND_PORT")))
	if err != nil {
		say("%v", err)
		return workloads.Exit(1)
	}
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	conn, err := l.Accept()
	if err != nil {
		return nil // SIGTERM
	}
	defer conn.Close()
	say("Accepted client connection")
	if expected := c.Container.Getenv("EXPECTED_CLIENT_DATA"); expected != "" {
		received := make([]byte, len(expected))
		n, err := io.ReadFull(conn, received)
		switch {
		case err != nil:
			say("Expected to read %d bytes from client, but got %d instead. err=%v", len(expected), n, err)
			return workloads.Exit(2)
		case string(received) != expected:
			say("the client has sent %q instead of %q", received, expected)
			return workloads.Exit(3)
		}
		say("Received expected client data")
	}
	for i := range numbers[0] {
		if i > 0 {
			time.Sleep(time.Duration(numbers[2]) * time.Millisecond)
		}
		if _, err := io.WriteString(conn, strings.Repeat("x", numbers[1])); err != nil {
			say("%v", err)
			return workloads.Exit(4)
		}
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	time.Sleep(500 * time.Millisecond) // the client reads all before the rest is closed
	say("Done")
	return nil
}
