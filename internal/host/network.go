package host

import (
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/fakecluster/fakecluster/workloads"
)

// NetworkAction is an action of a client in the network of a cluster's Pods, which the client reaches from outside.
type NetworkAction struct {
	Action    string `json:"action" doc:"dial, portForward, read, write, closeWrite or close"`
	Network   string `json:"network,omitempty" doc:"of dial: tcp, tcp4, tcp6, udp, udp4 or udp6"`
	Address   string `json:"address,omitempty" doc:"of dial: a Pod, a Service or a node, and a port, such as web.default:80 or 10.244.0.5:8080; in a bubble also the host of the cluster's url"`
	Namespace string `json:"namespace,omitempty" doc:"of portForward: the namespace of the Pod; default: default"`
	Pod       string `json:"pod,omitempty" doc:"of portForward: the name of the Pod"`
	Port      int    `json:"port,omitempty" doc:"of portForward: the port in the Pod, also one on localhost"`
	Socket    int    `json:"socket,omitempty" doc:"of read, write, closeWrite and close: what dial or portForward has returned"`
	Data      []byte `json:"data,omitempty" doc:"of write: the bytes, in base64"`
}

// actInNetwork performs an action of a client in the network of the Pods.
func actInNetwork(c call, a NetworkAction) (result ContainerResult, err error) {
	act, ok := networkActions[a.Action]
	if !ok {
		return result, refuse(http.StatusBadRequest, "action: there is no %.100q; there are %s", a.Action, strings.Join(slices.Sorted(maps.Keys(networkActions)), ", "))
	}
	if a.Action == "portForward" || a.Action == "dial" && c.cluster.isAPIServer(a.Address) {
		if err := c.cluster.checkUnexplored(); err != nil {
			return result, err
		}
	}
	life := c.cluster.life()
	if life == nil {
		return result, errNothingLives
	}
	if err := act(c, life, a, &result); err != nil {
		result.Failed, result.Kind = err.Error(), kindOfError(err)
	}
	return result, nil
}

// networkActions are the actions of a client. An error is one of the network.
var networkActions = map[string]func(call, *workloads.Workloads, NetworkAction, *ContainerResult) error{
	"dial": func(c call, life *workloads.Workloads, a NetworkAction, result *ContainerResult) error {
		conn, err := c.dial(life, a.Network, a.Address)
		if err == nil {
			c.cluster.addConnection(c.cluster.outside, conn, result)
		}
		return err
	},
	"portForward": func(c call, life *workloads.Workloads, a NetworkAction, result *ContainerResult) error {
		if a.Pod == "" {
			return errNoPod
		}
		conn, err := life.PortForward(c, c.cluster.RESTConfig(), a.Namespace, a.Pod, a.Port)
		if err == nil {
			c.cluster.addConnection(c.cluster.outside, conn, result)
		}
		return err
	},
	"read": func(c call, _ *workloads.Workloads, a NetworkAction, result *ContainerResult) error {
		return readSocket(c, c.cluster.outside, a.Socket, result)
	},
	"write": func(c call, _ *workloads.Workloads, a NetworkAction, _ *ContainerResult) error {
		return writeSocket(c, c.cluster.outside, a.Socket, a.Data)
	},
	"closeWrite": func(c call, _ *workloads.Workloads, a NetworkAction, _ *ContainerResult) error {
		return closeWrite(c, c.cluster.outside, a.Socket)
	},
	"close": func(c call, _ *workloads.Workloads, a NetworkAction, _ *ContainerResult) error {
		return closeSocket(c, c.cluster.outside, a.Socket)
	},
}

// dial connects a client with an address. The host of the url of a cluster in a bubble is the API server, without TLS.
func (c call) dial(life *workloads.Workloads, network, address string) (net.Conn, error) {
	if !c.cluster.isAPIServer(address) {
		return life.Dial(c, network, address)
	}
	conn, err := life.Dial(c, network, "kubernetes.default.svc:443")
	if err != nil {
		return nil, err
	}
	secure := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) // the connection does not leave the process
	if err := secure.HandshakeContext(c); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return secure, nil
}

// isAPIServer reports whether an address is that of the url of a cluster in a bubble.
func (c *cluster) isAPIServer(address string) bool {
	return c.driver != nil && c.driver.url == "http://"+address
}

// checkUnexplored returns an error for the cluster of a controller under test. A connection to a container, or one that a request upgrades, does not pass through the
// transport of the exploration.
func (c *cluster) checkUnexplored() error {
	if c.whole != nil {
		return errNotExplored
	}
	return nil
}

var errNotExplored = refuse(http.StatusConflict, "exec, attach, port-forward and other requests that upgrade their connection cannot be explored, because faults do not reach them: "+
	"give the controller a function that makes them, and replace it by a fake in the exploration")

// readSocket waits for bytes of a connection.
func readSocket(c call, r *running, number int, result *ContainerResult) error {
	conn, ok := c.cluster.socket(r, number).(net.Conn)
	if !ok {
		return net.ErrClosed
	}
	return readSome(conn, result)
}

// writeSocket writes bytes to a connection.
func writeSocket(c call, r *running, number int, data []byte) error {
	conn, ok := c.cluster.socket(r, number).(net.Conn)
	if !ok {
		return net.ErrClosed
	}
	_, err := conn.Write(data)
	return err
}

// closeWrite sends the end of a connection's stream. The other direction stays open.
func closeWrite(c call, r *running, number int) error {
	switch conn := c.cluster.socket(r, number).(type) {
	case interface{ CloseWrite() error }:
		return conn.CloseWrite()
	case net.Conn:
		return errNoStream
	}
	return net.ErrClosed
}

var errNoStream = errors.New("a UDP connection is not a stream, and does not have an end to send: use Close")

// closeSocket closes a connection or a port.
func closeSocket(c call, r *running, number int) error {
	socket, ok := c.cluster.socket(r, number).(io.Closer)
	if !ok {
		return net.ErrClosed
	}
	c.cluster.mu.Lock()
	delete(r.sockets, number)
	c.cluster.mu.Unlock()
	return socket.Close()
}
