package play

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
)

// WriteRecordings writes recordings to a file of compressed JSON lines.
func WriteRecordings(path string, recordings []Recording) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	packed, err := gzip.NewWriterLevel(file, gzip.BestCompression)
	if err != nil {
		return err
	}
	lines := json.NewEncoder(packed)
	lines.SetEscapeHTML(false)
	for _, r := range recordings {
		if err := lines.Encode(r); err != nil {
			return err
		}
	}
	return packed.Close()
}

// ReadRecordings reads what WriteRecordings has written.
func ReadRecordings(path string) ([]Recording, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(bufio.NewReader(file))
	if err != nil {
		return nil, err
	}
	var recordings []Recording
	for lines := json.NewDecoder(unpacked); ; {
		var r Recording
		switch err := lines.Decode(&r); {
		case errors.Is(err, io.EOF):
			return recordings, nil
		case err != nil:
			return nil, err
		}
		recordings = append(recordings, r)
	}
}
