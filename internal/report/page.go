package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the parts of the page
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string
)

// policy is the Content-Security-Policy of a page: it allows only its own script and style, and no connection to another
// site.
var policy = "default-src 'none'; script-src " + source(pageJS) + "; style-src " + source(pageCSS) + "; connect-src 'self'; base-uri 'none'; form-action 'none'"

// source returns the part of a policy that allows an inline script or style.
func source(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Write writes a page. If from is not empty, the page loads new data from that address.
//
// It does not use html/template, which calls methods by name, so that the linker would keep all exported methods of
// everything that a test imports.
func Write(w io.Writer, d *Data, from string) error {
	text, err := json.Marshal(d) // which escapes <, > and &
	if err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	_, err = strings.NewReplacer(
		"{{.Policy}}", html.EscapeString(policy),
		"{{.Title}}", html.EscapeString(d.Title),
		"{{.Source}}", html.EscapeString(from),
		"{{.CSS}}", pageCSS,
		"{{.Data}}", string(text),
		"{{.JS}}", pageJS,
	).WriteString(w, pageHTML)
	return err
}

// File writes a page to a new file in a folder, which it creates if necessary, and returns the path. If the name is
// taken, a number follows.
func File(folder, name string, d *Data) (string, error) {
	var b bytes.Buffer
	if err := Write(&b, d, ""); err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		path := filepath.Join(folder, name+".html")
		if n > 1 {
			path = filepath.Join(folder, fmt.Sprintf("%s-%d.html", name, n))
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.Write(b.Bytes())
		return path, errors.Join(err, f.Close())
	}
}
