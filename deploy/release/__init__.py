"""What a release is made of beside wheels and images; .github/workflows/release.yml calls it."""
