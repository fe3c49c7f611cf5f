package rest

import (
	"bytes"
	"compress/gzip"
	"io"
	"math"
	"os"
	"testing"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
)

// A reader has a frame as soon as its member is sent, before there is another.
func TestAGzipMemberIsReadBeforeTheNextIsSent(t *testing.T) {
	reader, writer, err := os.Pipe() // it holds the end of a member that nobody reads yet
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	random := seedtest.Rand(t)
	var frames [][]byte
	for _, size := range []int{1, 1500, math.MaxUint16, math.MaxUint16 + 1, 200_000} {
		frame := make([]byte, size)
		for i := range frame {
			frame[i] = byte(random.Uint32())
		}
		frames = append(frames, frame)
	}
	next := make(chan []byte)
	go func() {
		defer writer.Close()
		for frame := range next {
			for _, part := range gzipMember(frame) {
				if _, err := writer.Write(part); err != nil {
					return
				}
			}
		}
	}()
	defer close(next)
	var z *gzip.Reader
	for _, frame := range frames {
		next <- frame
		if z == nil {
			if z, err = gzip.NewReader(reader); err != nil {
				t.Fatal(err)
			}
		}
		got := make([]byte, len(frame))
		if _, err := io.ReadFull(z, got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, frame) {
			t.Fatalf("a frame of %d bytes comes back as another", len(frame))
		}
	}
}
