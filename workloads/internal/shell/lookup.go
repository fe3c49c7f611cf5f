package shell

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// nc connects to a port, and copies its input to the connection and the response to its output. With -z it only
// connects.
func nc(ctx context.Context, s *Shell, c *Command) int {
	var rest []string
	scan, verbose, udp, timeout := false, false, false, time.Duration(0)
	args := flagReader{args: c.Args[1:], valued: "w"}
	for args.next() {
		switch args.name {
		case "z":
			scan = true
		case "v":
			verbose = true
		case "u":
			udp = true
		case "n", "q":
		case "w":
			timeout = seconds(args.value())
		case "":
			rest = append(rest, args.value())
		default:
			return c.fail(1, "invalid option -- '%s'", args.name)
		}
	}
	if len(rest) != 2 {
		return c.fail(1, "a host and a port are needed")
	}
	limitsOf(ctx).paused()
	connecting := ctx
	if timeout > 0 {
		var cancel context.CancelFunc
		connecting, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	conn, err := s.dial(connecting, map[bool]string{true: "udp", false: "tcp"}[udp], net.JoinHostPort(rest[0], rest[1]))
	if err != nil {
		switch unknown, refused, late := why(err); {
		case unknown:
			return c.fail(1, "bad address '%s'", rest[0])
		case refused && (verbose || !scan):
			return c.fail(1, "%s (%s): Connection refused", rest[0], net.JoinHostPort(rest[0], rest[1]))
		case late && (verbose || !scan):
			return c.fail(1, "timed out")
		case scan && !verbose:
			return 1
		}
		return c.fail(1, "%v", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if verbose {
		fmt.Fprintf(c.Stderr, "%s (%s) open\n", rest[0], conn.RemoteAddr())
	}
	if scan {
		return 0
	}
	if _, err := io.Copy(conn, c.Stdin); err != nil {
		return 1
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	if n, _ := io.Copy(c.Stdout, io.LimitReader(conn, maxHeld+1)); n > maxHeld {
		_ = limitsOf(ctx).hold(maxHeld + 1) // ends the run
		return 1
	}
	return 0
}

// dnsWait is the time that nslookup waits for an answer.
const dnsWait = 5 * time.Second

// nslookup queries the nameserver of /etc/resolv.conf for the addresses of a name, with the search domains.
func nslookup(ctx context.Context, s *Shell, c *Command) int {
	var rest []string
	for _, a := range c.Args[1:] {
		if !strings.HasPrefix(a, "-") {
			rest = append(rest, a)
		}
	}
	if len(rest) == 0 {
		return c.fail(1, "a name is needed")
	}
	server, searches, dots := s.resolvers(ctx)
	if len(rest) > 1 {
		server = rest[1]
	}
	if server == "" {
		return c.fail(1, "can't resolve '%s': there is no DNS", rest[0])
	}
	limitsOf(ctx).paused()
	fmt.Fprintf(c.Stdout, "Server:\t\t%s\nAddress:\t%s\n\n", server, net.JoinHostPort(server, "53"))
	names := []string{rest[0]}
	if !strings.HasSuffix(rest[0], ".") {
		for _, domain := range searches {
			names = append(names, rest[0]+"."+domain)
		}
		if strings.Count(rest[0], ".") < dots {
			names = append(names[1:], rest[0])
		}
	}
	for _, name := range names {
		found, err := s.ask(ctx, server, name)
		if err != nil {
			fmt.Fprintf(c.Stderr, ";; connection timed out; no servers could be reached\n")
			return 1
		}
		for _, a := range found {
			fmt.Fprintf(c.Stdout, "Name:\t%s\nAddress: %s\n", name, a)
		}
		if len(found) > 0 {
			return 0
		}
	}
	fmt.Fprintf(c.Stdout, "** server can't find %s: NXDOMAIN\n", names[0])
	return 1
}

// resolvers reads /etc/resolv.conf.
func (s *Shell) resolvers(ctx context.Context) (server string, searches []string, dots int) {
	dots = 1
	data, err := s.read(ctx, "/etc/resolv.conf")
	if err != nil {
		return "", nil, dots
	}
	for line := range strings.Lines(string(data)) {
		switch fields := strings.Fields(line); {
		case len(fields) < 2:
		case fields[0] == "nameserver" && server == "":
			server = fields[1]
		case fields[0] == "search":
			searches = fields[1:]
		case fields[0] == "options":
			for _, o := range fields[1:] {
				_, _ = fmt.Sscanf(o, "ndots:%d", &dots)
			}
		}
	}
	return server, searches, dots
}

// ask queries a nameserver for the IPv4 and IPv6 addresses of a name.
func (s *Shell) ask(ctx context.Context, server, name string) (found []netip.Addr, err error) {
	for _, kind := range []dnsmessage.Type{dnsmessage.TypeA, dnsmessage.TypeAAAA} {
		answer, err := s.exchange(ctx, server, name, kind)
		if err != nil {
			return nil, err
		}
		for _, record := range answer.Answers {
			switch body := record.Body.(type) {
			case *dnsmessage.AResource:
				found = append(found, netip.AddrFrom4(body.A))
			case *dnsmessage.AAAAResource:
				found = append(found, netip.AddrFrom16(body.AAAA))
			}
		}
	}
	return found, nil
}

func (s *Shell) exchange(ctx context.Context, server, name string, kind dnsmessage.Type) (answer dnsmessage.Message, err error) {
	full, err := dnsmessage.NewName(strings.TrimSuffix(name, ".") + ".")
	if err != nil {
		return answer, err
	}
	question := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: uint16(rand.Uint32()), RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: full, Type: kind, Class: dnsmessage.ClassINET}},
	}
	packed, err := question.Pack()
	if err != nil {
		return answer, err
	}
	conn, err := s.dial(ctx, "udp", net.JoinHostPort(server, "53"))
	if err != nil {
		return answer, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(dnsWait)); err != nil {
		return answer, err
	}
	if _, err := conn.Write(packed); err != nil {
		return answer, err
	}
	data := make([]byte, 1<<12)
	n, err := conn.Read(data)
	if err != nil {
		return answer, err
	}
	return answer, answer.Unpack(data[:n])
}

// date writes the time, in UTC.
func date(_ context.Context, _ *Shell, c *Command) int {
	now, format := time.Now().UTC(), ""
	for _, a := range c.Args[1:] {
		switch {
		case a == "-u":
		case strings.HasPrefix(a, "+"):
			format = a[1:]
		default:
			return c.fail(1, "invalid date '%s'", a)
		}
	}
	if format == "" {
		fmt.Fprintln(c.Stdout, now.Format("Mon Jan _2 15:04:05 UTC 2006"))
		return 0
	}
	layouts := []string{"%Y", "2006", "%m", "01", "%d", "02", "%H", "15", "%M", "04", "%S", "05", "%F", "2006-01-02", "%T", "15:04:05", "%Z", "UTC", "%b", "Jan", "%a", "Mon"}
	var pairs []string
	for i := 0; i < len(layouts); i += 2 {
		pairs = append(pairs, layouts[i], now.Format(layouts[i+1]))
	}
	pairs = append(pairs, "%s", fmt.Sprint(now.Unix()), "%N", fmt.Sprintf("%09d", now.Nanosecond()), "%%", "%")
	fmt.Fprintln(c.Stdout, strings.NewReplacer(pairs...).Replace(format))
	return 0
}
