// Package view renders the console's pages: components in templ, which escape every text, the styles and scripts, and
// the plots as SVG. A component is a function of package model's data and has no other input.
//
// The pages need no inline script and no inline style, so that the strictest Content-Security-Policy holds. Without
// JavaScript they can be read, filtered and sorted, but do not update themselves.
package view
