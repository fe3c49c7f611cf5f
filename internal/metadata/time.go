package metadata

// IsTime reports whether a text is a time as a server writes it, in UTC and in whole seconds,
// such as 2006-01-02T15:04:05Z. Such texts sort like their times.
//
// It returns false for rare times: those before 1971, such as the zero time, which a server
// writes as null, and the 29th of February.
func IsTime(s string) bool {
	const form = "dddd-dd-ddTdd:dd:ddZ"
	if len(s) != len(form) || s < "1971" {
		return false
	}
	for i := range len(form) {
		digit := s[i] >= '0' && s[i] <= '9'
		if form[i] == 'd' != digit || form[i] != 'd' && s[i] != form[i] {
			return false
		}
	}
	return s[8:10] >= "01" && s[8:10] <= lastDay(s[5:7]) &&
		s[11:13] <= "23" && s[14:16] <= "59" && s[17:19] <= "59"
}

// lastDay returns the last day that a month has in every year, or "" if there is no such month.
func lastDay(month string) string {
	switch month {
	case "01", "03", "05", "07", "08", "10", "12":
		return "31"
	case "04", "06", "09", "11":
		return "30"
	case "02":
		return "28"
	}
	return ""
}
