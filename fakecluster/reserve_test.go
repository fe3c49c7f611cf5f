package fakecluster_test

import (
	"net"
	"runtime"
	"strconv"
	"testing"

	"github.com/fakecluster/fakecluster/fakecluster"
)

func TestAReservedPortIsNotAssignedToOthers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can reserve a port")
	}
	port, free, err := fakecluster.ReservePort()
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	listen := func(port string) (got string) {
		t.Helper()
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, got, _ = net.SplitHostPort(l.Addr().String())
		return got
	}
	mine := strconv.Itoa(port)
	for turn := range 2 {
		listen(mine)
		for range 2000 { // the system goes round its free ports
			if listen("0") == mine {
				t.Fatalf("after turn %d the port was assigned to another listener", turn)
			}
		}
	}
}
