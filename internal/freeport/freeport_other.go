//go:build !linux

package freeport

import "net"

// Reserve finds a free port of 127.0.0.1 for another listener. The system may assign the port
// to another process meanwhile; free does nothing.
func Reserve() (port int, free func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, nil, err
	}
	return listener.Addr().(*net.TCPAddr).Port, func() {}, listener.Close()
}
