"""Google's generateContent."""
