package network

import (
	"encoding/binary"
	"io"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

const (
	dnsPort = 53
	// ttl is the TTL of answers in seconds, as in kubeadm's configuration of CoreDNS.
	ttl = 30
	// dnsIdleTimeout is the time that the DNS waits for the next question on a connection, as CoreDNS does.
	dnsIdleTimeout = 10 * time.Second
	// plainSize is the maximal size of a message over UDP, unless the question allows a larger one.
	plainSize = 512
)

// listenDNS answers questions at port 53 of the cluster's DNS as CoreDNS does, unless a Service has the address: over
// UDP in the goroutine that asks, and over TCP in one for each connection.
func (n *Network) listenDNS() error {
	n.dns = n.newProcess(n.newStack("", n.config.DNS), resolver{network: n})
	address := netip.AddrPortFrom(n.config.DNS, dnsPort).String()
	packets, err := n.dns.ListenPacket("udp", address)
	if err != nil {
		return err
	}
	udp := packets.(*packetConn)
	udp.handle = func(p packet) {
		if answer := n.answer(p.data, plainSize); answer != nil {
			_ = udp.process.network.send(udp, p.from, answer) // an answer that cannot be sent is lost
		}
	}
	connections, err := n.dns.Listen("tcp", address)
	if err != nil {
		return err
	}
	connections.(*listener).handle = func(c *conn) { n.serving.Go(func() { n.serveDNS(c) }) }
	return nil
}

// serveDNS answers the questions of a connection until it is closed.
func (n *Network) serveDNS(c *conn) {
	if !n.dns.remember(c) {
		c.shut(true)
		return
	}
	defer c.Close()
	for {
		_ = c.SetReadDeadline(time.Now().Add(dnsIdleTimeout))
		var length [2]byte
		if _, err := io.ReadFull(c, length[:]); err != nil {
			return
		}
		question := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(c, question); err != nil {
			return
		}
		answer := n.answer(question, 1<<16-1)
		if answer == nil {
			return
		}
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

// answer returns the answer to a message; nil: there is none. The answer has at most size bytes, unless the message
// allows more.
func (n *Network) answer(message []byte, size int) []byte {
	var parser dnsmessage.Parser
	header, err := parser.Start(message)
	if err != nil || header.Response {
		return nil
	}
	reply := dnsmessage.Message{Header: dnsmessage.Header{
		ID: header.ID, Response: true, OpCode: header.OpCode, RecursionDesired: header.RecursionDesired, CheckingDisabled: header.CheckingDisabled,
	}}
	var asked dnsmessage.Message
	switch err := asked.Unpack(message); {
	case header.OpCode != 0:
		reply.RCode = dnsmessage.RCodeNotImplemented
	case err != nil || len(asked.Questions) != 1:
		reply.RCode = dnsmessage.RCodeFormatError
	case asked.Questions[0].Class != dnsmessage.ClassINET:
		reply.Questions, reply.RCode = asked.Questions, dnsmessage.RCodeRefused
	default:
		reply.Questions = asked.Questions
		n.resolve(&reply, asked.Questions[0])
	}
	for _, r := range asked.Additionals {
		if r.Header.Type == dnsmessage.TypeOPT {
			size = max(size, int(r.Header.Class))
			reply.Additionals = append(reply.Additionals, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName("."), Type: dnsmessage.TypeOPT, Class: r.Header.Class},
				Body:   &dnsmessage.OPTResource{},
			})
		}
	}
	return pack(reply, size)
}

// pack encodes a message in at most size bytes. If it leaves records out, it marks the message as truncated.
func pack(m dnsmessage.Message, size int) []byte {
	for {
		packed, err := m.Pack()
		if err != nil { // such as a name with a label of more than 63 characters
			m.RCode, m.Answers, m.Authorities, m.Additionals = dnsmessage.RCodeServerFailure, nil, nil, nil
			packed, _ = m.Pack()
			return packed
		}
		if len(packed) <= size || len(m.Answers)+len(m.Additionals) == 0 {
			return packed
		}
		m.Truncated = true
		if last := len(m.Additionals) - 1; last >= 0 && m.Additionals[last].Header.Type != dnsmessage.TypeOPT {
			m.Additionals = m.Additionals[:last]
		} else if len(m.Answers) > 0 {
			m.Answers = m.Answers[:len(m.Answers)-1]
		} else {
			m.Additionals = nil
		}
	}
}

// resolve adds the records that answer a question, as CoreDNS does with kubeadm's configuration. Names outside of the
// cluster do not exist.
func (n *Network) resolve(reply *dnsmessage.Message, q dnsmessage.Question) {
	name := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
	exists, inside := false, inDomain(name, domain)
	switch {
	case inside && q.Type == dnsmessage.TypeAXFR:
		reply.RCode = dnsmessage.RCodeRefused
		return
	case inside:
		exists = n.resolveInDomain(reply, q, name)
	case q.Type == dnsmessage.TypePTR:
		for _, target := range n.namesOf(reversed(name)) {
			exists = true
			reply.Answers = append(reply.Answers, record(q.Name, q.Type, &dnsmessage.PTRResource{PTR: nameOf(target)}))
		}
	}
	if !exists {
		reply.RCode = dnsmessage.RCodeNameError
	}
	// CoreDNS forwards other names to another server.
	reply.Authoritative = inside || exists
	reply.RecursionAvailable = !reply.Authoritative
	if inside && len(reply.Answers) == 0 {
		reply.Authorities = append(reply.Authorities, soa())
	}
}

// resolveInDomain adds the records of a name in the domain of the cluster, and reports whether it exists.
func (n *Network) resolveInDomain(reply *dnsmessage.Message, q dnsmessage.Question, name string) (exists bool) {
	entries, exists := n.entries(name)
	switch {
	case q.Type == dnsmessage.TypeA, q.Type == dnsmessage.TypeAAAA:
		reply.Answers = n.addressRecords(q.Name, name, q.Type, maxAliases)
	case q.Type == dnsmessage.TypeCNAME && len(entries) > 0 && entries[0].alias != "":
		reply.Answers = append(reply.Answers, cname(q.Name, entries[0].alias))
	case q.Type == dnsmessage.TypeSRV:
		reply.Answers, reply.Additionals = serviceRecords(q.Name, entries)
	case q.Type == dnsmessage.TypeTXT && name == "dns-version."+domain:
		reply.Answers = append(reply.Answers, record(q.Name, q.Type, &dnsmessage.TXTResource{TXT: []string{"1.1.0"}}))
		exists = true
	case q.Type == dnsmessage.TypeSOA && name == domain:
		reply.Answers = append(reply.Answers, soa())
	case q.Type == dnsmessage.TypeNS && name == domain:
		reply.Answers = append(reply.Answers, record(q.Name, q.Type, &dnsmessage.NSResource{NS: nameOf(nameserver)}))
		for _, t := range []dnsmessage.Type{dnsmessage.TypeA, dnsmessage.TypeAAAA} {
			reply.Additionals = append(reply.Additionals, n.addressRecords(nameOf(nameserver), nameserver, t, 0)...)
		}
	}
	return exists
}

// addressRecords returns the records of a type, A or AAAA, of a name, after the CNAME records that lead to them.
func (n *Network) addressRecords(owner dnsmessage.Name, name string, t dnsmessage.Type, aliases int) (records []dnsmessage.Resource) {
	entries, _ := n.entries(name)
	var seen []netip.Addr
	for _, e := range entries {
		switch {
		case e.alias != "" && aliases > 0:
			next := n.addressRecords(nameOf(e.alias), e.alias, t, aliases-1)
			if len(next) > 0 || !inDomain(e.alias, domain) {
				records = append(append(records, cname(owner, e.alias)), next...)
			}
		case e.alias == "" && e.ip.Is4() == (t == dnsmessage.TypeA) && !slices.Contains(seen, e.ip):
			seen = append(seen, e.ip)
			records = append(records, address(owner, e.ip))
		}
	}
	return records
}

// serviceRecords returns the SRV records of entries, and the addresses of their targets.
func serviceRecords(owner dnsmessage.Name, entries []entry) (records, addresses []dnsmessage.Resource) {
	type target struct {
		name string
		port int32
		ip   netip.Addr
	}
	seen := map[target]bool{}
	first := func(t target) bool {
		defer func() { seen[t] = true }()
		return !seen[t]
	}
	entries = slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return e.alias != "" })
	for _, e := range entries {
		if e.port < 0 {
			continue
		}
		if first(target{name: e.name, port: e.port}) {
			records = append(records, record(owner, dnsmessage.TypeSRV, &dnsmessage.SRVResource{
				Weight: uint16(max(1, 100/len(entries))), Port: uint16(e.port), Target: nameOf(e.name),
			}))
		}
		if first(target{name: e.name, ip: e.ip}) {
			addresses = append(addresses, address(nameOf(e.name), e.ip))
		}
	}
	return records, addresses
}

func record(owner dnsmessage.Name, t dnsmessage.Type, body dnsmessage.ResourceBody) dnsmessage.Resource {
	return dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: owner, Type: t, Class: dnsmessage.ClassINET, TTL: ttl}, Body: body}
}

func address(owner dnsmessage.Name, ip netip.Addr) dnsmessage.Resource {
	if ip.Is4() {
		return record(owner, dnsmessage.TypeA, &dnsmessage.AResource{A: ip.As4()})
	}
	return record(owner, dnsmessage.TypeAAAA, &dnsmessage.AAAAResource{AAAA: ip.As16()})
}

func cname(owner dnsmessage.Name, target string) dnsmessage.Resource {
	return record(owner, dnsmessage.TypeCNAME, &dnsmessage.CNAMEResource{CNAME: nameOf(target)})
}

// soa returns the SOA record of the domain of the cluster. Its serial number is the time, so it grows.
func soa() dnsmessage.Resource {
	return record(nameOf(domain), dnsmessage.TypeSOA, &dnsmessage.SOAResource{
		NS: nameOf(nameserver), MBox: nameOf("hostmaster." + domain), Serial: uint32(time.Now().Unix()),
		Refresh: 7200, Retry: 1800, Expire: 86400, MinTTL: ttl,
	})
}

// nameOf returns a name without a final dot in the type of package dnsmessage. Packing it fails if it is too long.
func nameOf(name string) dnsmessage.Name {
	n, _ := dnsmessage.NewName(name + ".")
	return n
}

// reversed returns the address of a name in in-addr.arpa or ip6.arpa; the zero value: none.
func reversed(name string) netip.Addr {
	text, v4 := strings.CutSuffix(name, ".in-addr.arpa")
	parts := strings.Split(text, ".")
	slices.Reverse(parts)
	if v4 {
		ip, _ := netip.ParseAddr(strings.Join(parts, "."))
		return ip
	}
	text, v6 := strings.CutSuffix(name, ".ip6.arpa")
	parts = strings.Split(text, ".")
	slices.Reverse(parts)
	if !v6 || len(parts) != 32 {
		return netip.Addr{}
	}
	var b strings.Builder
	for i, part := range parts {
		if i > 0 && i%4 == 0 {
			b.WriteByte(':')
		}
		b.WriteString(part)
	}
	ip, _ := netip.ParseAddr(b.String())
	return ip
}
