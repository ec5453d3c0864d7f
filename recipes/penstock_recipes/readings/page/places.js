/** Where somebody may have been born, by the clocks that were there. */
export const PLACES = {
  London: { timeZone: "Europe/London", latitude: 51.5074, longitude: -0.1278 },
  Kórnik: { timeZone: "Europe/Warsaw", latitude: 52.2361, longitude: 17.0953 },
  Paris: { timeZone: "Europe/Paris", latitude: 48.8566, longitude: 2.3522 },
  Berlin: { timeZone: "Europe/Berlin", latitude: 52.52, longitude: 13.405 },
  Lisbon: { timeZone: "Europe/Lisbon", latitude: 38.7223, longitude: -9.1393 },
  Cairo: { timeZone: "Africa/Cairo", latitude: 30.0444, longitude: 31.2357 },
  Lagos: { timeZone: "Africa/Lagos", latitude: 6.5244, longitude: 3.3792 },
  Mumbai: { timeZone: "Asia/Kolkata", latitude: 19.076, longitude: 72.8777 },
  Tokyo: { timeZone: "Asia/Tokyo", latitude: 35.6762, longitude: 139.6503 },
  Sydney: { timeZone: "Australia/Sydney", latitude: -33.8688, longitude: 151.2093 },
  "New York": { timeZone: "America/New_York", latitude: 40.7128, longitude: -74.006 },
  "Mexico City": { timeZone: "America/Mexico_City", latitude: 19.4326, longitude: -99.1332 },
  "São Paulo": { timeZone: "America/Sao_Paulo", latitude: -23.5505, longitude: -46.6333 },
};
