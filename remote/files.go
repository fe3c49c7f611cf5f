package remote

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"time"
)

// FS returns the files that the container sees, with all volumes at their mount paths. Names are as in
// package io/fs: "etc/config/key". Mounted ConfigMaps and Secrets change within a minute after their objects,
// as with a kubelet. It implements fs.StatFS, fs.ReadDirFS and fs.ReadFileFS.
func (p *Container) FS() fs.FS { return containerFS{p} }

// containerFS are the files of a container.
type containerFS struct{ container *Container }

// do carries out an action on a file.
func (f containerFS) do(op, action, name string) (result, error) {
	if !fs.ValidPath(name) {
		return result{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	r, err := f.container.do(map[string]any{"action": action, "path": "/" + name})
	var failed *containerError
	if errors.As(err, &failed) && failed.kind != nil {
		err = &fs.PathError{Op: op, Path: name, Err: failed.kind}
	}
	return r, err
}

// Stat implements fs.StatFS.
func (f containerFS) Stat(name string) (fs.FileInfo, error) {
	r, err := f.do("stat", "stat", name)
	if err != nil {
		return nil, err
	}
	info := r.Files[0]
	info.Base = path.Base(name)
	return info, nil
}

// ReadDir implements fs.ReadDirFS.
func (f containerFS) ReadDir(name string) ([]fs.DirEntry, error) {
	r, err := f.do("readdir", "readDir", name)
	var entries []fs.DirEntry
	for _, info := range r.Files {
		entries = append(entries, fs.FileInfoToDirEntry(info))
	}
	return entries, err
}

// ReadFile implements fs.ReadFileFS.
func (f containerFS) ReadFile(name string) ([]byte, error) {
	r, err := f.do("open", "readFile", name)
	if err == nil && r.Data == nil {
		r.Data = []byte{}
	}
	return r.Data, err
}

// Open implements fs.FS. An open file keeps the content of the time at which it was opened.
func (f containerFS) Open(name string) (fs.File, error) {
	info, err := f.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return &openFolder{fs: f, name: name, info: info}, nil
	}
	data, err := f.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return &openFile{bytes.NewReader(data), info}, nil
}

// fileInfo is the fs.FileInfo of a file, as the host sends it.
type fileInfo struct {
	Base     string      `json:"name"`
	Bytes    int64       `json:"size"`
	FileMode fs.FileMode `json:"mode"`
	Changed  time.Time   `json:"modTime"`
}

func (i fileInfo) Name() string       { return i.Base }
func (i fileInfo) Size() int64        { return i.Bytes }
func (i fileInfo) Mode() fs.FileMode  { return i.FileMode }
func (i fileInfo) ModTime() time.Time { return i.Changed }
func (i fileInfo) IsDir() bool        { return i.FileMode.IsDir() }
func (i fileInfo) Sys() any           { return nil }

// openFile is a file of a container.
type openFile struct {
	*bytes.Reader
	info fs.FileInfo
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

// openFolder is an open folder of a container. Its entries are those of the first read.
type openFolder struct {
	fs   containerFS
	name string
	info fs.FileInfo
	read bool
	rest []fs.DirEntry
}

func (f *openFolder) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFolder) Close() error               { return nil }

func (f *openFolder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.name, Err: errors.New("is a directory")}
}

// ReadDir implements fs.ReadDirFile.
func (f *openFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	if !f.read {
		entries, err := f.fs.ReadDir(f.name)
		if err != nil {
			return nil, err
		}
		f.read, f.rest = true, entries
	}
	switch {
	case n <= 0:
		n = len(f.rest)
	case len(f.rest) == 0:
		return nil, io.EOF
	}
	n = min(n, len(f.rest))
	entries := f.rest[:n:n]
	f.rest = f.rest[n:]
	return entries, nil
}
