package rest

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
)

// isWatchList reports whether a watch begins with the present objects and a bookmark after them. A real
// server compresses such a watch, and no other, for clients that accept it.
func isWatchList(o *internalversion.ListOptions) bool {
	return o.SendInitialEvents != nil && *o.SendInitialEvents && o.AllowWatchBookmarks
}

// gzipped writes the frames of a watch as gzip, each as a separate member, so that a client
// reads a frame as soon as it is sent. The clients are on this machine, where compression costs
// more than it saves: the members have stored blocks.
type gzipped struct{ answered }

func (g gzipped) begin(mediaType string) {
	g.w.Header().Set("Content-Encoding", "gzip")
	g.w.Header().Add("Vary", "Accept-Encoding")
	g.answered.begin(mediaType)
}

func (g gzipped) write(frame []byte) error {
	for _, part := range gzipMember(frame) {
		if _, err := g.w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

var gzipHeader = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff} // RFC 1952: deflate, no time, no system

// storedEnd ends a member: an empty block, at which a reader hands on what it has, and an empty
// last block. If the data were in the last block, a reader would first wait for the next member.
var storedEnd = []byte{0, 0, 0, 0xff, 0xff, 1, 0, 0, 0xff, 0xff}

// gzipMember returns the parts of a gzip member that has the given bytes in stored blocks.
func gzipMember(data []byte) [][]byte {
	parts := [][]byte{gzipHeader}
	for rest := data; len(rest) > 0; {
		block := rest[:min(len(rest), math.MaxUint16)]
		rest = rest[len(block):]
		length := binary.LittleEndian.AppendUint16([]byte{0}, uint16(len(block)))
		parts = append(parts, binary.LittleEndian.AppendUint16(length, ^uint16(len(block))), block)
	}
	end := binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(data))
	return append(parts, storedEnd, binary.LittleEndian.AppendUint32(end, uint32(len(data))))
}
