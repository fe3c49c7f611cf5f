package fakecluster

import (
	"fmt"
	"os"
	"syscall"
)

// reservePort finds a free port of 127.0.0.1 and keeps the system from assigning it to listeners on
// port 0. Any process can listen on it by its number, also several times in turn. free ends the
// reservation; it does not end a listener.
//
// A listener that is opened to learn a port and then closed leaves the port to any other process: on a
// busy machine another process takes it before its name is used.
//
// reservePort binds a socket to the port and does not listen on it: Linux lets others, such as Go's
// listeners, bind to the same address then.
func reservePort() (port int, free func(), err error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, os.NewSyscallError("socket", err)
	}
	free = func() { _ = syscall.Close(fd) }
	err = os.NewSyscallError("setsockopt", syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1))
	if err == nil {
		err = os.NewSyscallError("bind", syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	}
	var name syscall.Sockaddr
	if err == nil {
		name, err = syscall.Getsockname(fd)
	}
	address, ok := name.(*syscall.SockaddrInet4)
	if err == nil && !ok {
		err = fmt.Errorf("the socket has the address %v", name)
	}
	if err != nil {
		free()
		return 0, nil, fmt.Errorf("reserving a port: %w", err)
	}
	return address.Port, free, nil
}
