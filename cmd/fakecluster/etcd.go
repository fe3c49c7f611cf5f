package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// etcd is the command under the name etcd. It answers health checks and stores nothing: a
// cluster is in the memory of its kube-apiserver. It returns the exit status.
func etcd(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags, err := readEtcdFlags(args)
	switch {
	case errors.Is(err, errHelp):
		fmt.Fprint(stdout, etcdHelp)
		return 0
	case flags["version"] != "":
		fmt.Fprintln(stdout, "etcd of fakecluster, which stores nothing")
		return 0
	}
	if err == nil {
		err = serveEtcd(ctx, flags, stderr)
	}
	if err != nil {
		fmt.Fprintln(stderr, "etcd:", err)
		return 1
	}
	return 0
}

var errHelp = errors.New("help requested")

// readEtcdFlags parses flags in the forms -x and --x, with =VALUE, with VALUE as the next argument, or
// without a value.
func readEtcdFlags(args []string) (map[string]string, error) {
	flags := map[string]string{}
	for i := 0; i < len(args); i++ {
		name, isFlag := strings.CutPrefix(args[i], "-")
		if name = strings.TrimPrefix(name, "-"); !isFlag || name == "" {
			return flags, fmt.Errorf("%q is not a valid flag", args[i])
		}
		name, value, given := strings.Cut(name, "=")
		switch {
		case name == "help" || name == "h":
			return flags, errHelp
		case given:
		case i+1 < len(args) && !strings.HasPrefix(args[i+1], "-"):
			i++
			value = args[i]
		default:
			value = "true"
		}
		flags[name] = value
	}
	return flags, nil
}

func serveEtcd(ctx context.Context, flags map[string]string, stderr io.Writer) error {
	addresses := flags["listen-client-urls"]
	if addresses == "" {
		addresses = "http://localhost:2379"
	}
	health := http.NewServeMux()
	for _, path := range []string{"/health", "/healthz", "/livez", "/readyz"} {
		health.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"health":"true","reason":""}`) // the client may have gone
		})
	}
	server := &http.Server{Handler: health, ErrorLog: log.New(io.Discard, "", 0)}
	defer server.Close()
	ended := make(chan error, 1)
	for one := range strings.SplitSeq(addresses, ",") {
		listener, err := listenAt(one, flags["cert-file"], flags["key-file"])
		if err != nil {
			return err
		}
		go func() {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				select {
				case ended <- err:
				default:
				}
			}
		}()
	}
	fmt.Fprintln(stderr, "ready to serve client requests on", addresses)
	select {
	case <-ctx.Done():
		return nil
	case err := <-ended:
		return err
	}
}

// listenAt listens at a URL of http or https.
func listenAt(address, certificate, key string) (net.Listener, error) {
	location, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return nil, err
	}
	if location.Scheme != "http" && location.Scheme != "https" {
		return nil, fmt.Errorf("--listen-client-urls: %q is not a URL of http or https; write one such as http://localhost:2379", address)
	}
	if host := location.Hostname(); host != "localhost" && !net.ParseIP(host).IsLoopback() {
		return nil, fmt.Errorf("--listen-client-urls: %s is not a loopback address; fakecluster listens on loopback addresses only", host)
	}
	var config *tls.Config
	if location.Scheme == "https" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("--cert-file and --key-file: %w", err)
		}
		// HTTP/1.1 is enough for health checks.
		config = &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}}
	}
	listener, err := net.Listen("tcp", location.Host)
	if err != nil || config == nil {
		return listener, err
	}
	return tls.NewListener(listener, config), nil
}

const etcdHelp = `etcd is fakecluster under another name, for test suites that start a control plane.
It answers /health, /healthz, /livez and /readyz until SIGINT or SIGTERM, and stores
nothing: the kube-apiserver beside it keeps its objects in memory. It ends with the
process that started it in a process group of its own, as envtest does.

Usage:
  etcd [flags]

Flags:
  --listen-client-urls 'http://localhost:2379'
    Where to listen: loopback addresses, separated by commas.
  --cert-file, --key-file ''
    The certificate for https URLs, and its key.
  --unsafe-no-fsync 'false'
    Accepted, like every other flag of etcd, and without effect.
`
