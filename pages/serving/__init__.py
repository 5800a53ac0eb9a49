"""Between browser and pages: identity, security headers, health."""
