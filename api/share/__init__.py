"""One file to show: a session as one HTML file that needs nobody, holds its record with proof, and can be checked."""
