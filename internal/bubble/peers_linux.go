package bubble

import (
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// peers returns " at ADDRESS" for the addresses to which sockets of this process are connected; empty: none.
func peers() string {
	own := map[string]bool{} // the numbers of sockets
	descriptors, _ := filepath.Glob("/proc/self/fd/*")
	for _, d := range descriptors {
		to, _ := os.Readlink(d)
		if number, ok := strings.CutPrefix(to, "socket:["); ok {
			own[strings.TrimSuffix(number, "]")] = true
		}
	}
	const connected, listens = "01", "0A"
	var remote []string
	served := map[string]bool{} // addresses at which this process listens
	local := map[string]string{}
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		text, _ := os.ReadFile(table)
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) < 10 || !own[f[9]] {
				continue
			}
			switch f[3] {
			case listens:
				served[address(f[1])] = true
			case connected:
				remote = append(remote, address(f[2]))
				local[address(f[2])] = address(f[1])
			}
		}
	}
	remote = slices.DeleteFunc(remote, func(to string) bool { return served[local[to]] }) // both ends are in this process
	slices.Sort(remote)
	if remote = slices.Compact(remote); len(remote) == 0 {
		return ""
	}
	return " at " + strings.Join(remote, " or ")
}

// address converts an address in the kernel's tables, whose words have the byte order of the machine.
func address(text string) string {
	ip, port, _ := strings.Cut(text, ":")
	bytes, err := hex.DecodeString(ip)
	number, invalid := strconv.ParseUint(port, 16, 16)
	if err != nil || invalid != nil {
		return text
	}
	for word := range slices.Chunk(bytes, 4) {
		slices.Reverse(word)
	}
	addr, _ := netip.AddrFromSlice(bytes)
	return netip.AddrPortFrom(addr.Unmap(), uint16(number)).String()
}
