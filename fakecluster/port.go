package fakecluster

import (
	"errors"
	"fmt"
	"net"
	"strconv"
)

// WithPort sets the port of 127.0.0.1 on which the cluster listens. It is an error if the port is
// in use. A fork listens on a port of its own. The option cannot be combined with InProcess or with
// the flags --secure-port and --bind-address.
//
// Default: a port that the system chooses.
func WithPort(port int) Option {
	return once("WithPort", func(s *settings) { s.port = &port })
}

// checkPort returns an error for an impossible port. Otherwise it sets the address on which the cluster will
// listen.
func (s *settings) checkPort() error {
	switch {
	case s.port == nil:
		return nil
	case s.inProcess:
		return errors.New("InProcess and WithPort exclude each other: without a socket there is no port")
	case s.flags.Serving.Address != "":
		return errors.New("WithPort and the flags --secure-port and --bind-address of WithAPIServerFlags exclude each other; give one of them")
	case *s.port < 1 || *s.port > 65535:
		return fmt.Errorf("WithPort: %d is not a port; write one from 1 to 65535, or leave the option out for any free port", *s.port)
	}
	s.flags.Serving.Address = net.JoinHostPort("127.0.0.1", strconv.Itoa(*s.port))
	return nil
}
