//go:build !linux

package fakecluster

import "net"

// reservePort finds a free port of 127.0.0.1 for another listener. The system may assign the port
// to another process meanwhile; free does nothing.
func reservePort() (port int, free func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, nil, err
	}
	return listener.Addr().(*net.TCPAddr).Port, func() {}, listener.Close()
}
