package images

import (
	"context"
	"crypto/tls"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/fakecluster/fakecluster/workloads"
)

// clients are programs of agnhost's image that specs run by exec.
var clients = merged(map[string]program{"curl": curl, "nc": nc}, resolvers)

// resolvers are programs that look names up.
var resolvers = map[string]program{"dig": dig, "getent": getent, "nslookup": nslookup}

// apart returns arguments in which flags without values stand alone: -s, -I and -k for -sIk.
func apart(flags *flag.FlagSet, args []string) (split []string) {
	for _, arg := range args {
		letters, ok := strings.CutPrefix(arg, "-")
		if !ok || len(letters) < 2 || strings.HasPrefix(letters, "-") || strings.Contains(letters, "=") || flags.Lookup(letters) != nil {
			split = append(split, arg)
			continue
		}
		for _, letter := range letters {
			split = append(split, "-"+string(letter))
		}
	}
	return split
}

// curl sends a GET request, or one for the header alone with -I. Its exit codes are 7 if there is no connection, and 28 after a time limit.
func curl(ctx context.Context, c *workloads.ExecCommand) error {
	var format, file string
	var limit, connecting float64
	var head, only, fail, insecure bool
	header := http.Header{}
	flags := flag.NewFlagSet("curl", flag.ContinueOnError)
	flags.SetOutput(c.Stderr)
	flags.StringVar(&format, "w", "", "")
	flags.StringVar(&file, "o", "", "")
	flags.Float64Var(&limit, "max-time", 0, "")
	flags.Float64Var(&connecting, "connect-timeout", 0, "")
	flags.String("interface", "", "") // the address of the Pod in any case
	flags.BoolVar(&head, "i", false, "")
	flags.BoolVar(&only, "I", false, "")
	flags.BoolVar(&fail, "f", false, "")
	flags.BoolVar(&insecure, "k", false, "")
	addHeader := func(line string) error {
		name, value, _ := strings.Cut(line, ":")
		header.Set(name, strings.TrimSpace(value))
		return nil
	}
	flags.Func("H", "", addHeader)
	flags.Func("header", "", addHeader)
	for _, ignored := range []string{"g", "q", "s", "S", "L", "v"} {
		flags.Bool(ignored, false, "")
	}
	if err := flags.Parse(apart(flags, c.Args[1:])); err != nil {
		return workloads.Exit(2)
	}
	address := flags.Arg(0)
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, seconds(limit))
		defer cancel()
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if connecting > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, seconds(connecting))
			defer cancel()
		}
		return c.Container.Dial(ctx, network, address)
	}, TLSClientConfig: &tls.Config{InsecureSkipVerify: insecure}}
	method := http.MethodGet
	if only {
		method, head = http.MethodHead, true
	}
	r, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		fmt.Fprintln(c.Stderr, "curl: (3)", err)
		return workloads.Exit(3)
	}
	r.Header = header
	r.Header.Set("User-Agent", "curl/8")
	response, err := transport.RoundTrip(r)
	if err != nil {
		if format == "%{http_code}" {
			fmt.Fprint(c.Stdout, "000")
		}
		code := 7
		if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
			code = 28
		}
		fmt.Fprintf(c.Stderr, "curl: (%d) %v\n", code, err)
		return workloads.Exit(code)
	}
	defer response.Body.Close()
	if fail && response.StatusCode >= http.StatusBadRequest {
		return workloads.Exit(22)
	}
	out := c.Stdout
	if file == "/dev/null" {
		out = io.Discard
	}
	if head {
		fmt.Fprintf(out, "%s %s\r\n", response.Proto, response.Status)
		_ = response.Header.Write(out)
		fmt.Fprint(out, "\r\n")
	}
	if _, err := io.Copy(out, response.Body); err != nil {
		return workloads.Exit(56)
	}
	fmt.Fprint(c.Stdout, strings.ReplaceAll(format, "%{http_code}", strconv.Itoa(response.StatusCode)))
	return nil
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// nc sends its standard input to a port, and prints what comes back.
func nc(ctx context.Context, c *workloads.ExecCommand) error {
	wait, protocol := 5.0, "tcp"
	var udp, scan, verbose bool
	var source, packets int
	flags := flag.NewFlagSet("nc", flag.ContinueOnError)
	flags.SetOutput(c.Stderr)
	flags.Float64Var(&wait, "w", wait, "")
	flags.BoolVar(&udp, "u", false, "")
	flags.BoolVar(&scan, "z", false, "")
	flags.IntVar(&source, "p", 0, "")
	flags.IntVar(&packets, "W", 0, "") // nc ends after so many packets
	flags.Bool("t", false, "")
	flags.BoolVar(&verbose, "v", false, "")
	if err := flags.Parse(c.Args[1:]); err != nil || flags.NArg() != 2 {
		return workloads.Exit(1)
	}
	if udp {
		protocol = "udp"
	}
	ctx, cancel := context.WithTimeout(ctx, seconds(wait))
	defer cancel()
	address := net.JoinHostPort(flags.Arg(0), flags.Arg(1))
	if udp && source != 0 {
		return sendFrom(c, source, address, seconds(wait), packets)
	}
	conn, err := c.Container.Dial(ctx, protocol, address)
	if err != nil {
		fmt.Fprintln(c.Stderr, "nc:", err)
		return workloads.Exit(1)
	}
	defer conn.Close()
	if verbose {
		fmt.Fprintf(c.Stderr, "Connection to %s %s port [%s/*] succeeded!\n", flags.Arg(0), flags.Arg(1), protocol)
	}
	if scan {
		return nil
	}
	if c.Stdin != nil {
		if _, err := io.Copy(conn, c.Stdin); err != nil {
			return workloads.Exit(1)
		}
	}
	_ = conn.SetReadDeadline(time.Now().Add(seconds(wait)))
	_, _ = io.Copy(c.Stdout, conn) // until the deadline
	return nil
}

// sendFrom sends the standard input as a packet from a port, and prints what comes back within a time, at most some packets.
func sendFrom(c *workloads.ExecCommand, source int, address string, wait time.Duration, packets int) error {
	fails := func(err error) error {
		fmt.Fprintln(c.Stderr, "nc:", err)
		return workloads.Exit(1)
	}
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fails(err)
	}
	socket, err := c.Container.ListenPacket("udp", ":"+strconv.Itoa(source))
	if err != nil {
		return fails(err)
	}
	defer socket.Close()
	request, err := io.ReadAll(c.Stdin)
	if err != nil {
		return fails(err)
	}
	if _, err := socket.WriteTo(request, net.UDPAddrFromAddrPort(to)); err != nil {
		return fails(err)
	}
	_ = socket.SetReadDeadline(time.Now().Add(wait))
	buffer := make([]byte, 2048)
	for n := 0; packets == 0 || n < packets; n++ {
		size, _, err := socket.ReadFrom(buffer)
		if err != nil {
			break
		}
		_, _ = c.Stdout.Write(buffer[:size])
	}
	return nil
}

// hexdump prints a file as hexdump -C does.
func hexdump(_ context.Context, c *workloads.ExecCommand) error {
	data, err := c.Container.ReadFile(c.Args[len(c.Args)-1])
	if err != nil {
		fmt.Fprintln(c.Stderr, err)
		return workloads.Exit(1)
	}
	fmt.Fprintf(c.Stdout, "%s%08x\n", hex.Dump(data), len(data))
	return nil
}
