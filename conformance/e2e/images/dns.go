package images

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/fakecluster/fakecluster/workloads"
)

// resolvConf is a container's /etc/resolv.conf.
type resolvConf struct {
	servers, search []string
	ndots           int
}

func readResolvConf(c *workloads.Container) (resolvConf, error) {
	r := resolvConf{ndots: 1}
	content, err := c.ReadFile("/etc/resolv.conf")
	if err != nil {
		return r, err
	}
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "nameserver":
			r.servers = append(r.servers, fields[1])
		case "search":
			r.search = fields[1:]
		case "options":
			for _, option := range fields[1:] {
				if value, ok := strings.CutPrefix(option, "ndots:"); ok {
					if r.ndots, err = strconv.Atoi(value); err != nil {
						return r, err
					}
				}
			}
		}
	}
	return r, nil
}

// tries returns the full names that a name may stand for, in their order.
func (r resolvConf) tries(name string) (names []string) {
	if strings.HasSuffix(name, ".") {
		return []string{name}
	}
	for _, domain := range r.search {
		if domain = strings.Trim(domain, "."); domain != "" {
			names = append(names, name+"."+domain+".")
		}
	}
	if strings.Count(name, ".") >= r.ndots {
		return append([]string{name + "."}, names...)
	}
	return append(names, name+".")
}

// dnsTypes are the types of records that the programs know, by name.
var dnsTypes = map[string]dnsmessage.Type{
	"A": dnsmessage.TypeA, "AAAA": dnsmessage.TypeAAAA, "CNAME": dnsmessage.TypeCNAME, "MX": dnsmessage.TypeMX, "NS": dnsmessage.TypeNS,
	"PTR": dnsmessage.TypePTR, "SOA": dnsmessage.TypeSOA, "SRV": dnsmessage.TypeSRV, "TXT": dnsmessage.TypeTXT,
}

// dnsCodes are the codes of answers by name.
var dnsCodes = []string{"NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"}

func codeOf(m dnsmessage.Message) string {
	if int(m.RCode) < len(dnsCodes) {
		return dnsCodes[m.RCode]
	}
	return fmt.Sprintf("RCODE%d", m.RCode)
}

const (
	dnsTimeout = 5 * time.Second // for an answer
	dnsTries   = 3
)

// ask asks a server for the records of a full name, over TCP, or over UDP and over TCP if the answer is truncated.
func ask(ctx context.Context, c *workloads.Container, server, name string, kind dnsmessage.Type, tcp bool) (answer dnsmessage.Message, err error) {
	full, err := dnsmessage.NewName(name)
	if err != nil {
		return answer, err
	}
	question := dnsmessage.Message{Header: dnsmessage.Header{ID: uint16(time.Now().UnixNano()), RecursionDesired: true}, Questions: []dnsmessage.Question{{
		Name: full, Type: kind, Class: dnsmessage.ClassINET,
	}}}
	packed, err := question.Pack()
	if err != nil {
		return answer, err
	}
	for range dnsTries {
		var content []byte
		if content, err = exchange(ctx, c, server, packed, tcp); err != nil {
			continue
		}
		if err = answer.Unpack(content); err != nil || answer.ID != question.ID {
			continue
		}
		if answer.Truncated && !tcp {
			return ask(ctx, c, server, name, kind, true)
		}
		return answer, nil
	}
	return answer, err
}

// exchange sends a message to a server and returns the next one that comes back.
func exchange(ctx context.Context, c *workloads.Container, server string, message []byte, tcp bool) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, dnsTimeout)
	defer cancel()
	network := "udp"
	if tcp {
		network = "tcp"
		message = append(binary.BigEndian.AppendUint16(nil, uint16(len(message))), message...)
	}
	conn, err := c.Dial(ctx, network, server)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(dnsTimeout)); err != nil {
		return nil, err
	}
	if _, err := conn.Write(message); err != nil {
		return nil, err
	}
	content := make([]byte, 1<<16)
	if !tcp {
		n, err := conn.Read(content)
		return content[:n], err
	}
	if _, err := io.ReadFull(conn, content[:2]); err != nil {
		return nil, err
	}
	content = content[:binary.BigEndian.Uint16(content)]
	_, err = io.ReadFull(conn, content)
	return content, err
}

// data returns the data of a record as text.
func data(r dnsmessage.Resource) string {
	switch b := r.Body.(type) {
	case *dnsmessage.AResource:
		return netip.AddrFrom4(b.A).String()
	case *dnsmessage.AAAAResource:
		return netip.AddrFrom16(b.AAAA).String()
	case *dnsmessage.CNAMEResource:
		return b.CNAME.String()
	case *dnsmessage.PTRResource:
		return b.PTR.String()
	case *dnsmessage.NSResource:
		return b.NS.String()
	case *dnsmessage.MXResource:
		return fmt.Sprint(b.Pref, " ", b.MX)
	case *dnsmessage.SRVResource:
		return fmt.Sprint(b.Priority, b.Weight, b.Port, " ", b.Target)
	case *dnsmessage.SOAResource:
		return fmt.Sprint(b.NS, " ", b.MBox, " ", b.Serial, b.Refresh, b.Retry, b.Expire, b.MinTTL)
	case *dnsmessage.TXTResource:
		var quoted []string
		for _, text := range b.TXT {
			quoted = append(quoted, strconv.Quote(text))
		}
		return strings.Join(quoted, " ")
	}
	return ""
}

func typeOf(t dnsmessage.Type) string { return strings.TrimPrefix(t.String(), "Type") }

// digOptions are what dig is asked for.
type digOptions struct {
	server, port, name string
	kind               dnsmessage.Type
	tcp, search, short bool
	sections           map[string]bool
}

// digSections are the parts of what dig prints.
var digSections = []string{"comments", "question", "answer", "authority", "additional"}

func digOptionsOf(args []string) (o digOptions, err error) {
	o = digOptions{port: "53", name: ".", kind: dnsmessage.TypeNS, sections: map[string]bool{}}
	setEach := func(on bool) {
		for _, section := range digSections {
			o.sections[section] = on
		}
	}
	setEach(true)
	named, typed := false, false
	for i := 0; i < len(args); i++ {
		arg := args[i]
		value := func() string {
			if i++; i < len(args) {
				return args[i]
			}
			err = fmt.Errorf("the option %s needs a value", arg)
			return ""
		}
		option, isOption := strings.CutPrefix(arg, "+")
		kind, isType := dnsTypes[strings.ToUpper(arg)]
		switch {
		case strings.HasPrefix(arg, "@"):
			o.server = arg[1:]
		case isOption:
			on := !strings.HasPrefix(option, "no")
			switch option = strings.TrimPrefix(option, "no"); option {
			case "tcp":
				o.tcp = on
			case "search":
				o.search = on
			case "short":
				o.short = on
			case "all":
				setEach(on)
			default:
				if !slices.Contains(digSections, option) {
					return o, fmt.Errorf("Invalid option: %s", arg)
				}
				o.sections[option] = on
			}
		case arg == "-p":
			o.port = value()
		case arg == "-t":
			kind, isType = dnsTypes[strings.ToUpper(value())]
			if !isType && err == nil {
				err = fmt.Errorf("unknown type: %s", args[i])
			}
			o.kind, typed = kind, true
		case arg == "-x":
			var ip netip.Addr
			if ip, err = netip.ParseAddr(value()); err == nil {
				o.name, o.kind, named, typed = reverse(ip), dnsmessage.TypePTR, true, true
			}
		case isType && named:
			o.kind, typed = kind, true
		default:
			o.name, named = arg, true
		}
		if err != nil {
			return o, err
		}
	}
	if named && !typed {
		o.kind = dnsmessage.TypeA
	}
	return o, nil
}

// reverse returns the name under which the DNS has the names of an address.
func reverse(ip netip.Addr) string {
	var name string
	for _, b := range ip.AsSlice() {
		if ip.Is4() {
			name = fmt.Sprintf("%d.%s", b, name)
		} else {
			name = fmt.Sprintf("%x.%x.%s", b&0xf, b>>4, name)
		}
	}
	if ip.Is4() {
		return name + "in-addr.arpa."
	}
	return name + "ip6.arpa."
}

// dig asks the DNS, and prints what comes back. Its exit code is 9 if nothing does.
func dig(ctx context.Context, c *workloads.ExecCommand) error {
	o, err := digOptionsOf(c.Args[1:])
	if err != nil {
		fmt.Fprintln(c.Stderr, err)
		return workloads.Exit(1)
	}
	conf, err := readResolvConf(c.Container)
	if err != nil {
		return err
	}
	if o.server == "" {
		if len(conf.servers) == 0 {
			conf.servers = []string{"127.0.0.1"}
		}
		o.server = conf.servers[0]
	}
	names := []string{strings.TrimSuffix(o.name, ".") + "."}
	if o.search {
		names = conf.tries(o.name)
	}
	var answer dnsmessage.Message
	for _, name := range names {
		if answer, err = ask(ctx, c.Container, net.JoinHostPort(o.server, o.port), name, o.kind, o.tcp); err != nil {
			fmt.Fprintf(c.Stdout, ";; communications error to %s#%s: %v\n;; no servers could be reached\n", o.server, o.port, reason(err))
			return workloads.Exit(9)
		}
		if answer.RCode == dnsmessage.RCodeSuccess {
			break
		}
	}
	if o.short {
		for _, r := range answer.Answers {
			fmt.Fprintln(c.Stdout, data(r))
		}
		return nil
	}
	o.print(c.Stdout, answer)
	return nil
}

// reason is an error without what package net puts before it.
func reason(err error) error {
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		return errors.New("timed out")
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}

func (o digOptions) print(w io.Writer, m dnsmessage.Message) {
	comment := func(format string, args ...any) {
		if o.sections["comments"] {
			fmt.Fprintf(w, ";; "+format+"\n", args...)
		}
	}
	flags := "qr"
	for _, f := range []struct {
		name string
		set  bool
	}{{"aa", m.Authoritative}, {"tc", m.Truncated}, {"rd", m.RecursionDesired}, {"ra", m.RecursionAvailable}} {
		if f.set {
			flags += " " + f.name
		}
	}
	comment("Got answer:")
	comment("->>HEADER<<- opcode: QUERY, status: %s, id: %d", codeOf(m), m.ID)
	comment("flags: %s; QUERY: %d, ANSWER: %d, AUTHORITY: %d, ADDITIONAL: %d\n", flags, len(m.Questions), len(m.Answers), len(m.Authorities), len(m.Additionals))
	if o.sections["question"] {
		comment("QUESTION SECTION:")
		for _, q := range m.Questions {
			fmt.Fprintf(w, ";%s\t\tIN\t%s\n\n", q.Name, typeOf(q.Type))
		}
	}
	for _, section := range []struct {
		name    string
		records []dnsmessage.Resource
	}{{"answer", m.Answers}, {"authority", m.Authorities}, {"additional", m.Additionals}} {
		if !o.sections[section.name] || len(section.records) == 0 {
			continue
		}
		comment("%s SECTION:", strings.ToUpper(section.name))
		for _, r := range section.records {
			fmt.Fprintf(w, "%s\t%d\tIN\t%s\t%s\n", r.Header.Name, r.Header.TTL, typeOf(r.Header.Type), data(r))
		}
		if o.sections["comments"] {
			fmt.Fprintln(w)
		}
	}
}

// nslookup prints the addresses of a name, as that of BIND does, or the names of an address. Its exit code is 1 if there are none.
func nslookup(ctx context.Context, c *workloads.ExecCommand) error {
	conf, err := readResolvConf(c.Container)
	if err != nil {
		return err
	}
	args := c.Args[1:]
	switch {
	case len(args) == 2:
		conf.servers = args[1:]
	case len(args) != 1:
		fmt.Fprintln(c.Stderr, "usage: nslookup name [server]")
		return workloads.Exit(1)
	case len(conf.servers) == 0:
		conf.servers = []string{"127.0.0.1"}
	}
	server := net.JoinHostPort(conf.servers[0], "53")
	names, kinds := conf.tries(args[0]), []dnsmessage.Type{dnsmessage.TypeA, dnsmessage.TypeAAAA}
	if ip, err := netip.ParseAddr(args[0]); err == nil {
		names, kinds = []string{reverse(ip)}, []dnsmessage.Type{dnsmessage.TypePTR}
	}
	var answers []dnsmessage.Message
	for _, name := range names {
		answers = nil
		for _, kind := range kinds {
			answer, err := ask(ctx, c.Container, server, name, kind, false)
			if err != nil {
				fmt.Fprintf(c.Stdout, ";; communications error to %s#53: %v\n;; no servers could be reached\n\n", conf.servers[0], reason(err))
				return workloads.Exit(1)
			}
			answers = append(answers, answer)
		}
		if answers[0].RCode == dnsmessage.RCodeSuccess {
			break
		}
	}
	fmt.Fprintf(c.Stdout, "Server:\t\t%s\nAddress:\t%s#53\n\n", conf.servers[0], conf.servers[0])
	if answers[0].RCode != dnsmessage.RCodeSuccess {
		fmt.Fprintf(c.Stdout, "** server can't find %s: %s\n\n", strings.TrimSuffix(answers[0].Questions[0].Name.String(), "."), codeOf(answers[0]))
		return workloads.Exit(1)
	}
	for i, answer := range answers {
		for _, r := range answer.Answers {
			owner := strings.TrimSuffix(r.Header.Name.String(), ".")
			switch r.Header.Type {
			case dnsmessage.TypeCNAME:
				if i == 0 {
					fmt.Fprintf(c.Stdout, "%s\tcanonical name = %s\n", owner, data(r))
				}
			case dnsmessage.TypePTR:
				fmt.Fprintf(c.Stdout, "%s\tname = %s\n", owner, data(r))
			default:
				fmt.Fprintf(c.Stdout, "Name:\t%s\nAddress: %s\n", owner, data(r))
			}
		}
	}
	fmt.Fprintln(c.Stdout)
	return nil
}

// getent prints the lines of the database hosts about names: those of /etc/hosts, and otherwise what the DNS has. Its exit code is 2 if
// one of them is not found.
func getent(ctx context.Context, c *workloads.ExecCommand) error {
	if len(c.Args) < 3 || c.Args[1] != "hosts" {
		fmt.Fprintln(c.Stderr, "usage: getent hosts name...")
		return workloads.Exit(1)
	}
	conf, err := readResolvConf(c.Container)
	if err != nil {
		return err
	}
	hosts, err := c.Container.ReadFile("/etc/hosts")
	if err != nil {
		return err
	}
	missing := false
	for _, name := range c.Args[2:] {
		lines := linesAbout(string(hosts), name)
		if len(lines) == 0 {
			lines = lookUp(ctx, c.Container, conf, name)
		}
		for _, fields := range lines {
			fmt.Fprintf(c.Stdout, "%-15s %s\n", fields[0], strings.Join(fields[1:], " "))
		}
		missing = missing || len(lines) == 0
	}
	if missing {
		return workloads.Exit(2)
	}
	return nil
}

// linesAbout returns the lines of a hosts file that have a name, as their fields.
func linesAbout(hosts, name string) (found [][]string) {
	for line := range strings.Lines(hosts) {
		line, _, _ = strings.Cut(line, "#")
		if fields := strings.Fields(line); len(fields) > 1 && slices.Contains(fields[1:], name) {
			found = append(found, fields)
		}
	}
	return found
}

// lookUp returns the addresses of a name in the DNS, each with the name.
func lookUp(ctx context.Context, c *workloads.Container, conf resolvConf, name string) (found [][]string) {
	for _, server := range conf.servers {
		for _, full := range conf.tries(name) {
			for _, kind := range []dnsmessage.Type{dnsmessage.TypeAAAA, dnsmessage.TypeA} {
				answer, err := ask(ctx, c, net.JoinHostPort(server, "53"), full, kind, false)
				if err != nil {
					break
				}
				for _, r := range answer.Answers {
					if r.Header.Type == kind {
						found = append(found, []string{data(r), strings.TrimSuffix(r.Header.Name.String(), ".")})
					}
				}
				if len(found) > 0 {
					return found
				}
			}
		}
	}
	return nil
}
