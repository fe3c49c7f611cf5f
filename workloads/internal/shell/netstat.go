package shell

import (
	"context"
	"fmt"
	"strings"
)

// netstat lists the ports at which programs of the Pod listen, with -a or -l: of TCP with -t, of UDP with -u, and of
// both by default. It does not list connections.
func netstat(_ context.Context, s *Shell, c *Command) int {
	for _, a := range c.Args[1:] {
		if !strings.HasPrefix(a, "-") || strings.Trim(a, "-antulpW") != "" {
			return c.fail(1, "%v", unsupported("the option "+a))
		}
	}
	fmt.Fprintln(c.Stdout, "Active Internet connections (servers and established)")
	fmt.Fprintln(c.Stdout, "Proto Recv-Q Send-Q Local Address           Foreign Address         State       ")
	if s.Listening == nil || !c.has("a") && !c.has("l") {
		return 0
	}
	for _, socket := range s.Listening() {
		if (c.has("t") || c.has("u")) && !c.has(socket.Protocol[:1]) {
			continue
		}
		local, foreign, state := socket.Local.String(), "0.0.0.0:*", "LISTEN"
		if socket.Local.Addr().Is6() {
			local, foreign = strings.NewReplacer("[", "", "]", "").Replace(local), ":::*"
		}
		if socket.Protocol == "udp" {
			state = ""
		}
		fmt.Fprintf(c.Stdout, "%-5s %6d %6d %-23s %-23s %-12s\n", socket.Protocol, 0, 0, local, foreign, state)
	}
	return 0
}
