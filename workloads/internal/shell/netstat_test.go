package shell_test

import (
	"net/netip"
	"testing"

	"github.com/fakecluster/fakecluster/workloads/internal/network"
)

// TestNetstat plays what scripts look for: who listens at which port.
func TestNetstat(t *testing.T) {
	s := newShell(t)
	s.Listening = func() []network.Socket {
		return []network.Socket{
			{Protocol: "tcp", Local: netip.MustParseAddrPort("127.0.0.1:80")}, {Protocol: "tcp", Local: netip.MustParseAddrPort("[::]:8080")},
			{Protocol: "udp", Local: netip.MustParseAddrPort("[::]:8081")},
		}
	}
	const head = "Active Internet connections (servers and established)\nProto Recv-Q Send-Q Local Address           Foreign Address         State       \n"
	for script, want := range map[string]string{
		"netstat": head,
		"netstat -tln": head + "tcp        0      0 127.0.0.1:80            0.0.0.0:*               LISTEN      \n" +
			"tcp        0      0 :::8080                 :::*                    LISTEN      \n",
		"netstat -na | grep LISTEN | grep -v 8080 | grep 80": "tcp        0      0 127.0.0.1:80            0.0.0.0:*               LISTEN      \n",
		"netstat -ul | tail -n 1":                            "udp        0      0 :::8081                 :::*                                \n",
		"netstat -r":                                         "stderr: netstat: syntax error: the option -r is not supported by the shell of fakecluster; handle sh with Container.HandleExec\nexit 1",
	} {
		if got := run(t, s, "", "sh", "-c", script); got != want {
			t.Errorf("%s\ngot  %q\nwant %q", script, got, want)
		}
	}
}
