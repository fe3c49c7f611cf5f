package rest

import (
	"net/http"
)

// frames is where the events of a watch go.
type frames interface {
	// begin sends the media type of the frames to the client.
	begin(mediaType string)
	// write sends the frame of one event, and flush what has been written.
	write(frame []byte) error
	flush()
}

// answered writes the frames of a watch over plain HTTP into its answer.
type answered struct{ w http.ResponseWriter }

func (a answered) begin(mediaType string) {
	a.w.Header().Set("Content-Type", mediaType)
	a.w.WriteHeader(http.StatusOK)
	a.flush()
}

func (a answered) write(frame []byte) error {
	_, err := a.w.Write(frame)
	return err
}

func (a answered) flush() { a.w.(http.Flusher).Flush() }
